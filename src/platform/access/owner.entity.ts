import { Check, Column, Entity, PrimaryGeneratedColumn, Unique } from 'typeorm';
import { type Plan, PLAN_LIMITS } from '../config/plans.js';

const LIMITS_CHECK = `CASE WHEN plan = 'enterprise'
  THEN limit_per_minute IS NOT NULL AND limit_per_minute > 0
   AND limit_per_day IS NOT NULL AND limit_per_day > 0
  ELSE limit_per_minute IS NULL AND limit_per_day IS NULL END`;

/** The owner of API keys. Requests are counted per owner. */
@Entity('owners')
@Unique('owners_name_key', ['name'])
@Check('owners_plan_check', `plan IN ('${Object.keys(PLAN_LIMITS).join("', '")}')`)
@Check('owners_limits_check', LIMITS_CHECK)
export class Owner {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column('text')
  name!: string;

  @Column('text')
  plan!: Plan;

  /** Set only if the plan has custom limits. */
  @Column('integer', { name: 'limit_per_minute', nullable: true })
  limitPerMinute!: number | null;

  @Column('integer', { name: 'limit_per_day', nullable: true })
  limitPerDay!: number | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
