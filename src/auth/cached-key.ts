import type { Plan, PlanLimits } from './plan.js';

/** What the service knows of a key that exists: enough to decide on a request without a query. */
export interface CachedKey {
  readonly id: bigint;
  readonly ownerId: bigint;
  readonly plan: Plan;
  readonly limits: PlanLimits;
  /** The first key of the line that rotation made this one of; bans hold for the line. */
  readonly firstKeyId: bigint;
  readonly unbanCount: number;
  /** Milliseconds since the epoch; undefined: never. */
  readonly expiresAtMs: number | undefined;
  readonly revoked: boolean;
}

/** Whether a key may be used. @param nowMs milliseconds since the epoch */
export function isUsable(key: CachedKey, nowMs: number): boolean {
  return !key.revoked && (key.expiresAtMs === undefined || nowMs < key.expiresAtMs);
}
