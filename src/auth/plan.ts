export const PLANS = ['free', 'pro', 'business', 'enterprise'] as const;
export type Plan = (typeof PLANS)[number];

/** Maximum number of requests of an owner, over all API keys. */
export interface PlanLimits {
  perMinute: number;
  perDay: number;
}

/** The limits of each plan. An owner with the enterprise plan has custom limits. */
export const PLAN_LIMITS: Readonly<Record<Exclude<Plan, 'enterprise'>, PlanLimits>> = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
};

/** The maximum of a custom limit, so that counters stay 32-bit integers. */
export const MAX_CUSTOM_LIMIT = 2_000_000_000;
