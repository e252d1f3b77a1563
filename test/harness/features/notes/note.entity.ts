import { Column, Entity, Generated, PrimaryGeneratedColumn } from 'typeorm';

@Entity('notes')
export class Note {
  @PrimaryGeneratedColumn('uuid', { primaryKeyConstraintName: 'notes_pkey' })
  id!: string;

  @Column('uuid', { name: 'share_id' })
  @Generated('uuid')
  shareId!: string;

  @Column('text')
  text!: string;

  @Column('jsonb', { nullable: true })
  labels!: Record<string, unknown> | null;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt!: Date;
}
