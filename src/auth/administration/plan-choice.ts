import { type Plan, PLAN_LIMITS, type PlanLimits } from '../plan.js';

/** A plan to be given to an owner: enterprise with limits of its own, any other without. */
export type PlanChoice =
  | { readonly plan: Exclude<Plan, 'enterprise'> }
  | { readonly plan: 'enterprise'; readonly limits: PlanLimits };

/** An owner's plan as it is stored; the limits are null unless the plan is enterprise. */
export interface StoredPlan {
  readonly plan: Plan;
  readonly limitPerMinute: number | null;
  readonly limitPerDay: number | null;
}

export function toStoredPlan(choice: PlanChoice): StoredPlan {
  const limits = choice.plan === 'enterprise' ? choice.limits : undefined;
  return {
    plan: choice.plan,
    limitPerMinute: limits?.perMinute ?? null,
    limitPerDay: limits?.perDay ?? null,
  };
}

/** Returns the limits that hold under a plan. */
export function limitsOf({ plan, limitPerMinute, limitPerDay }: StoredPlan): PlanLimits {
  return plan === 'enterprise'
    ? { perMinute: limitPerMinute ?? 0, perDay: limitPerDay ?? 0 }
    : PLAN_LIMITS[plan];
}

export function isSamePlan(one: StoredPlan, other: StoredPlan): boolean {
  return (
    one.plan === other.plan &&
    one.limitPerMinute === other.limitPerMinute &&
    one.limitPerDay === other.limitPerDay
  );
}
