import type { ThrottlerStorage } from '@nestjs/throttler';
import { DAY_MS, MINUTE_MS } from '../config/clock.js';
import type { KeyState } from '../http/request/caller.js';
import type { Circuit } from './redis/circuit.js';

/** A fixed window of a budget. It starts with the first request that is counted in it. */
export class Quota {
  /** minute, day, route or throttler */
  readonly name: string;
  /** Its item of `RateLimit-Policy`. */
  readonly policy: string;

  /** @param id the name; for a route, `route:` and the route whose requests the window counts */
  constructor(
    readonly id: string,
    readonly limit: number,
    readonly lengthMs: number,
  ) {
    this.name = id.startsWith('route:') ? 'route' : id;
    this.policy = `"${this.name}";q=${limit};w=${lengthMs / 1000}`;
  }
}

/** When rejected requests lead to a ban. */
export interface BanPolicy {
  /** The API keys that rotation created from one key share a count of rejections and a ban. */
  readonly lineageId: string;
  /** How often an operator has lifted bans. A ban that began under a lower count has no effect. */
  readonly unbanCount: number;
  /** Rejected requests within one minute that lead to a ban. 0 turns bans off. */
  readonly afterRejections: number;
  readonly lengthMs: number;
}

/** The rejected requests of a lineage, and its ban. Times are in milliseconds, on the storage's clock. */
export interface Rejections {
  count: number;
  /** The end of the minute in which rejections are counted. */
  windowEndsAtMs: number;
  /** The end of the latest ban; 0 if there was none. */
  bannedUntilMs: number;
  unbanCount: number;
}

/** Returns when the active ban ends, 0 without one. */
export function endOfBan(
  ban: BanPolicy | undefined,
  rejections: Rejections | undefined,
  nowMs: number,
): number {
  if (!ban || !rejections || rejections.unbanCount < ban.unbanCount) return 0;
  return rejections.bannedUntilMs > nowMs ? rejections.bannedUntilMs : 0;
}

/** The limits of an owner or a client address. */
export interface Budget {
  /** When memory is short, addresses may be evicted, owners never. */
  readonly kind: 'owner' | 'address';
  readonly id: string;
  /** The windows of all requests and, last, that of a route with a limit of its own. */
  readonly quotas: readonly Quota[];
  readonly ban?: BanPolicy;
}

/** The properties of an API key that determine the budget of its owner and its bans. */
export type BudgetKey = Pick<KeyState, 'ownerId' | 'limits' | 'firstKeyId' | 'unbanCount'>;

/** Returns the budget of an API key's owner, with the ban policy of the API key. */
export function ownerBudget(
  { ownerId, limits, firstKeyId, unbanCount }: BudgetKey,
  banPolicy: Pick<BanPolicy, 'afterRejections' | 'lengthMs'>,
): Budget {
  return {
    kind: 'owner',
    id: ownerId.toString(),
    quotas: [
      new Quota('minute', limits.perMinute, MINUTE_MS),
      new Quota('day', limits.perDay, DAY_MS),
    ],
    ban: { lineageId: firstKeyId.toString(), unbanCount, ...banPolicy },
  };
}

/** The state of one window of a budget. */
export interface QuotaState {
  readonly quota: Quota;
  used: number;
  /** Milliseconds since the epoch. For a window that has not started: one length from now. */
  readonly endsAtMs: number;
}

/** Whether a request is allowed, and the state of the budget that the decision is based on. */
export interface RateLimitDecision {
  readonly allowed: boolean;
  /** The storage's time, in milliseconds since the epoch. */
  readonly nowMs: number;
  readonly windows: readonly QuotaState[];
  /** The end of the ban, 0 without one. */
  readonly bannedUntilMs: number;
  /** The rejection of this request started the ban. */
  readonly banBegins: boolean;
}

/** Whether a decision counts the request, or its rejection. */
export type LimitMode = 'consume' | 'peek';

/** Counts requests in budgets. Every method is atomic. */
export abstract class LimitStorage implements ThrottlerStorage {
  /** Reports whether Redis is used. Undefined if the service runs without Redis. */
  abstract readonly circuit: Circuit | undefined;

  /** Counts one request in all windows of its budget or in none, if the mode is `consume`. */
  abstract decide(budget: Budget, mode: LimitMode): Promise<RateLimitDecision>;

  /** Peeks in the memory of this process. Redis may know of more requests. */
  abstract peekLocal(budget: Budget): RateLimitDecision;

  /**
   * Counts for a `ThrottlerGuard` of a feature.
   *
   * @throws Error for a `blockDuration`: the end of the window ends a rejection
   */
  async increment(key: string, ttl: number, limit: number, blockDuration: number) {
    if (blockDuration !== ttl) throw new Error('The throttler must not have a blockDuration.');
    const quotas = [new Quota('throttler', limit, ttl)];
    // When memory is short, it may be evicted as an address.
    const budget = { kind: 'address', id: `throttler:${key}`, quotas } as const;
    const { allowed, nowMs, windows } = await this.decide(budget, 'consume');
    const [{ used, endsAtMs } = { used: 0, endsAtMs: nowMs }] = windows;
    const seconds = Math.ceil((endsAtMs - nowMs) / 1000);
    const rejected = { isBlocked: !allowed, timeToBlockExpire: allowed ? 0 : seconds };
    return { totalHits: used + Number(!allowed), timeToExpire: seconds, ...rejected };
  }
}
