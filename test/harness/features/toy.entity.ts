import { IsBoolean, IsInt } from 'class-validator';
import { Column, Entity, PrimaryGeneratedColumn, UpdateDateColumn, VersionColumn } from 'typeorm';
import { IsInt64, IsOneOf, IsOptionalMember, IsText } from '#platform';

@Entity('test_toys')
export class Toy {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @IsText(1, 100)
  @Column('text', { name: 'the_name' })
  name!: string;

  @IsInt()
  @IsOptionalMember()
  @Column('integer', { default: 3 })
  minAge!: number;

  @IsInt64()
  @IsOptionalMember()
  @Column('bigint', { name: 'maker_id', nullable: true })
  makerId!: bigint | null;

  @IsBoolean()
  @IsOptionalMember()
  @Column('boolean', { name: 'is_new', default: true })
  isNew!: boolean;

  @IsOneOf(['red', 'blue'])
  @IsOptionalMember()
  @Column('text', { nullable: true })
  color!: string | null;

  @UpdateDateColumn({ type: 'timestamptz', name: 'updated_at' })
  updatedAt!: Date;

  @VersionColumn()
  version!: number;
}
