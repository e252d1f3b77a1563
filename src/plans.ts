import type { PlanTable } from './platform/config/plan-limits.js';

/**
 * The plans of the store, with the most requests of an owner per minute and per day. null: each owner has
 * limits of its own. CONTRIBUTING.md says what else a change needs.
 */
export const PLANS = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
  enterprise: null,
} as const satisfies PlanTable;
