import type { Plan, PlanLimits } from '../config/plans.js';

/** The cached state of an API key. Immutable; a refresh replaces the object. */
export interface CachedKey {
  readonly id: bigint;
  readonly ownerId: bigint;
  readonly plan: Plan;
  readonly limits: PlanLimits;
  /** The first key of the rotation lineage. A ban applies to the lineage. */
  readonly firstKeyId: bigint;
  readonly unbanCount: number;
  /** Milliseconds since the epoch; undefined: the API key does not expire. */
  readonly expiresAtMs: number | undefined;
  readonly revoked: boolean;
}
