import { IsInt } from 'class-validator';
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { IsOptionalMember, IsText } from '#platform';

@Entity('staged')
export class Letter {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @IsText(1, 100)
  @Column('text', { name: 'the_code', unique: true })
  code!: string;

  @IsText(1, 100)
  @IsOptionalMember()
  @Column('text', { nullable: true, default: 'calm' })
  mood!: string | null;

  @IsInt()
  @IsOptionalMember()
  @Column('smallint', { nullable: true })
  row!: number | null;

  @IsInt()
  @IsOptionalMember()
  @Column('integer', { name: 'parent_id', nullable: true })
  parentId!: number | null;
}
