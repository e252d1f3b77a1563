import { Check, Column, Entity, PrimaryGeneratedColumn, Unique } from 'typeorm';

const LIMITS_CHECK = `(limit_per_minute IS NULL) = (limit_per_day IS NULL)
  AND limit_per_minute > 0 AND limit_per_day > 0`;

/** The owner of API keys. Requests are counted per owner. */
@Entity('owners')
@Unique('owners_name_key', ['name'])
@Check('owners_limits_check', LIMITS_CHECK)
export class Owner {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column('text')
  name!: string;

  /** One of `Plans`, which the store can change. */
  @Column('text')
  plan!: string;

  /** Set only if the plan has custom limits. */
  @Column('integer', { name: 'limit_per_minute', nullable: true })
  limitPerMinute!: number | null;

  @Column('integer', { name: 'limit_per_day', nullable: true })
  limitPerDay!: number | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  /** When it was removed. Its row stays for its usage, and its name then says so. */
  @Column('timestamptz', { name: 'removed_at', nullable: true })
  removedAt!: Date | null;
}
