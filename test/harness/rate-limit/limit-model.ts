import {
  type BanPolicy,
  type Budget,
  Quota,
  type RateLimitDecision,
} from '../../../src/platform/rate-limit/limit-storage.js';
import { DAY_MS, MINUTE_MS } from './limits.js';

export const START_MS = 1_800_000_000_000;

/** The documented rules, applied to a list of all requests. It is slow, but simple. */
export class LimitModel {
  private readonly counted = new Map<string, CountedRequest[]>();
  private readonly rejected = new Map<string, { atMs: number; policy: BanPolicy }[]>();

  consume({ kind, id, quotas, ban }: Budget, nowMs: number): RateLimitDecision {
    const log = listOf(this.counted, `${kind} ${id}`);
    const windows = quotas.map((quota) => ({ quota, ...windowOf(log, quota, nowMs) }));
    const route = quotas.find(({ name }) => name === 'route')?.id;
    let bannedUntilMs = ban ? this.bannedUntil(ban, nowMs) : 0;
    if (bannedUntilMs === 0 && windows.every(({ quota, used }) => used < quota.limit)) {
      log.push({ atMs: nowMs, route });
      return {
        allowed: true,
        nowMs,
        windows: windows.map((window) => ({ ...window, used: window.used + 1 })),
        bannedUntilMs,
        banBegins: false,
      };
    }
    let banBegins = false;
    if (ban && bannedUntilMs === 0) {
      listOf(this.rejected, ban.lineageId).push({ atMs: nowMs, policy: ban });
      bannedUntilMs = this.bannedUntil(ban, nowMs);
      banBegins = bannedUntilMs > 0;
    }
    return { allowed: false, nowMs, windows, bannedUntilMs, banBegins };
  }

  private bannedUntil({ lineageId, unbanCount }: BanPolicy, nowMs: number): number {
    let minuteEndsAtMs = 0;
    let count = 0;
    let untilMs = 0;
    for (const { atMs, policy } of listOf(this.rejected, lineageId)) {
      if (policy.unbanCount < unbanCount) continue;
      if (atMs >= minuteEndsAtMs) {
        minuteEndsAtMs = atMs + MINUTE_MS;
        count = 0;
      }
      if (++count >= policy.afterRejections) {
        untilMs = atMs + policy.lengthMs;
        minuteEndsAtMs = 0;
      }
    }
    return untilMs > nowMs ? untilMs : 0;
  }
}

interface CountedRequest {
  atMs: number;
  /** Undefined for a route without a limit of its own. */
  route: string | undefined;
}

function windowOf(
  log: CountedRequest[],
  { id, name, lengthMs }: Quota,
  nowMs: number,
): { used: number; endsAtMs: number } {
  let endsAtMs = 0;
  let used = 0;
  for (const { atMs, route } of log) {
    if (name === 'route' && route !== id) continue;
    if (atMs >= endsAtMs) {
      endsAtMs = atMs + lengthMs;
      used = 0;
    }
    used++;
  }
  return endsAtMs > nowMs ? { used, endsAtMs } : { used: 0, endsAtMs: nowMs + lengthMs };
}

function listOf<Item>(lists: Map<string, Item[]>, key: string): Item[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}

export function quotas(perMinute: number, perDay: number): Quota[] {
  return [new Quota('minute', perMinute, MINUTE_MS), new Quota('day', perDay, DAY_MS)];
}

export function withRoute(budget: Budget, route: string, limit: number, lengthMs: number): Budget {
  const quota = new Quota(`route:${route}`, limit, lengthMs);
  return { ...budget, quotas: [...budget.quotas, quota] };
}

/** Returns the budget of an owner with these limits. */
export function owner(id: string, perMinute: number, perDay: number): Budget {
  return { kind: 'owner', id, quotas: quotas(perMinute, perDay) };
}

/** Returns the budget of an address without a valid API key. */
export function address(id: string, limit: number): Budget {
  return { kind: 'address', id, quotas: quotas(limit, 0).slice(0, 1) };
}
