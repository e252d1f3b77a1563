/** Maximum number of requests of an owner, over all API keys. */
export interface PlanLimits {
  readonly perMinute: number;
  readonly perDay: number;
}

/** Plans by name, in the order of the pages. null: each owner has custom limits. */
export type PlanTable = Readonly<Record<string, PlanLimits | null>>;

/** The maximum of a custom limit, so that counters stay 32-bit integers. */
export const MAX_CUSTOM_LIMIT = 2_000_000_000;

/** An owner's stored plan. The limits are null unless they are custom. */
export interface StoredPlan {
  readonly plan: string;
  readonly limitPerMinute: number | null;
  readonly limitPerDay: number | null;
}

/** The plans of the store. */
export class Plans {
  private readonly limits: ReadonlyMap<string, PlanLimits | null>;

  constructor(table: PlanTable) {
    this.limits = new Map(Object.entries(table));
  }

  /** Returns the plans with their limits. null: custom limits. */
  list(): [name: string, limits: PlanLimits | null][] {
    return [...this.limits];
  }

  /** Returns the limits of an owner, or null if the store has no such plan, or if custom limits are missing. */
  findLimits({ plan, limitPerMinute, limitPerDay }: StoredPlan): PlanLimits | null {
    const limits = this.limits.get(plan);
    if (limits !== null) return limits ?? null;
    if (limitPerMinute === null || limitPerDay === null) return null;
    return { perMinute: limitPerMinute, perDay: limitPerDay };
  }

  /** Returns why `findLimits` finds none for an owner with this plan. */
  failureOf(plan: string): Error {
    const problem = this.limits.has(plan) ? 'lacks its limits' : 'does not exist';
    return new Error(`The plan "${plan}" of an owner ${problem}. Change the owner's plan.`);
  }

  /** @throws Error unless the store has the plan, and the limits are set exactly if they are custom */
  check(stored: StoredPlan): void {
    if (!this.findLimits(stored)) throw this.failureOf(stored.plan);
    const hasLimits = stored.limitPerMinute !== null || stored.limitPerDay !== null;
    if (hasLimits && this.limits.get(stored.plan) !== null)
      throw new Error(`The limits of the plan "${stored.plan}" are fixed.`);
  }
}

/** The access that an API key gives. `read`: only GET, HEAD and OPTIONS. */
export const ACCESSES = ['read', 'read-write'] as const;
export type Access = (typeof ACCESSES)[number];
