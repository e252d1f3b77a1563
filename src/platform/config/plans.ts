/** Maximum number of requests of an owner, over all API keys. */
export interface PlanLimits {
  perMinute: number;
  perDay: number;
}

/**
 * All plans with their limits. null: each owner has custom limits. A new plan needs a migration that
 * replaces the checks of the table `owners`.
 */
export const PLAN_LIMITS = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
  enterprise: null,
} as const satisfies Record<string, PlanLimits | null>;

export type Plan = keyof typeof PLAN_LIMITS;

/** The maximum of a custom limit, so that counters stay 32-bit integers. */
export const MAX_CUSTOM_LIMIT = 2_000_000_000;

/** An owner's stored plan. The limits are null unless they are custom. */
export interface StoredPlan {
  readonly plan: Plan;
  readonly limitPerMinute: number | null;
  readonly limitPerDay: number | null;
}

export function limitsOf({ plan, limitPerMinute, limitPerDay }: StoredPlan): PlanLimits {
  return PLAN_LIMITS[plan] ?? { perMinute: limitPerMinute ?? 0, perDay: limitPerDay ?? 0 };
}

/** The access that an API key gives. `read`: only GET, HEAD and OPTIONS. */
export const ACCESSES = ['read', 'read-write'] as const;
export type Access = (typeof ACCESSES)[number];
