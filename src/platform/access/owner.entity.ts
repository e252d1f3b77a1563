import { Check, Column, Entity, PrimaryGeneratedColumn, Unique } from 'typeorm';
import type { Plan } from '../config/plans.js';
import { planConstraints } from './plan.js';

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
