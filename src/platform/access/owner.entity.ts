import { Check, Column, Entity, PrimaryGeneratedColumn, Unique } from 'typeorm';
import { type Plan, PLAN_LIMITS, type PlanLimits } from '../config/plans.js';

const CONSTRAINTS = planConstraints();

/** The owner of API keys. Requests are counted per owner. */
@Entity('owners')
@Unique('owners_name_key', ['name'])
@Check('owners_plan_check', CONSTRAINTS.owners_plan_check)
@Check('owners_limits_check', CONSTRAINTS.owners_limits_check)
export class Owner {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'owners_pkey',
  })
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

/** Returns the check constraints of the table owners, as SQL expressions by name. */
export function planConstraints(plans: Readonly<Record<string, PlanLimits | null>> = PLAN_LIMITS) {
  const names = Object.keys(plans);
  const list = (values: string[]) => values.map((value) => `'${value}'`).join(', ');
  return {
    owners_plan_check: `plan IN (${list(names)})`,
    owners_limits_check: `CASE WHEN plan IN (${list(names.filter((name) => plans[name] === null))})
        THEN limit_per_minute IS NOT NULL AND limit_per_minute > 0
         AND limit_per_day IS NOT NULL AND limit_per_day > 0
        ELSE limit_per_minute IS NULL AND limit_per_day IS NULL END`,
  };
}
