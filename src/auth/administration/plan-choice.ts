import { type Plan, PLAN_LIMITS, type PlanLimits } from '../plan.js';

/** A plan to assign to an owner. Only the enterprise plan has custom limits. */
export type PlanChoice =
  | { readonly plan: Exclude<Plan, 'enterprise'> }
  | { readonly plan: 'enterprise'; readonly limits: PlanLimits };

/** An owner's stored plan. The limits are null unless the plan is enterprise. */
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

/** Returns the limits of a plan. */
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
