import { type Clock, MINUTE_MS } from '../config/clock.js';
import { ExpiringMap } from './expiring-map.js';
import {
  type BanPolicy,
  type Budget,
  type LimitMode,
  LimitStorage,
  type Quota,
  type QuotaState,
  type RateLimitDecision,
  type Rejections,
} from './limit-storage.js';

/** The highest number of counted addresses. Their memory is documented in docs/limits.md. */
const MAX_ADDRESSES = 200_000;

/** A difference between the clocks that changes by more shows that the wall clock was set. */
const CLOCK_SET_MS = 100;

/** Returns when the active ban ends, or undefined if there is none. */
export function endOfBan(
  { unbanCount }: BanPolicy,
  rejections: Rejections | undefined,
  nowMs: number,
): number | undefined {
  if (!rejections || rejections.unbanCount < unbanCount) return undefined;
  return rejections.bannedUntilMs > nowMs ? rejections.bannedUntilMs : undefined;
}

/** Of the windows of all requests, or of one route: `used` and the end of each. Objects take more. */
type Windows = number[];

/**
 * Counts in the memory of this process. Every decision is synchronous, and therefore atomic. The ends
 * of windows and bans are kept on the monotonic clock, so that nobody can set them. A decision has
 * them on the wall clock.
 */
export class InProcessStorage extends LimitStorage {
  private readonly windows = {
    owner: new ExpiringMap<Windows>(endOfWindows),
    address: new ExpiringMap<Windows>(endOfWindows, MAX_ADDRESSES),
  };
  /** By lineage. */
  private readonly rejections = new ExpiringMap<Rejections>(endOfRejections);
  override readonly circuit = undefined;
  /** How far the wall clock is ahead of the monotonic clock. */
  private offsetMs = NaN;

  constructor(private readonly clock: Clock) {
    super();
  }

  override decide(budget: Budget, mode: LimitMode): Promise<RateLimitDecision> {
    return Promise.resolve(mode === 'consume' ? this.count(budget) : this.peekLocal(budget));
  }

  override peekLocal({ kind, id, quotas, ban }: Budget): RateLimitDecision {
    const nowMs = this.monotonicMs() + this.offsetMs;
    const windows = quotas.map((quota, index): QuotaState => {
      const [key, at] = place(id, quota, index);
      const stored = this.windows[kind].get(key);
      const endsAtMs = (stored?.[at + 1] ?? 0) + this.offsetMs;
      return endsAtMs > nowMs
        ? { quota, used: stored?.[at] ?? 0, endsAtMs }
        : { quota, used: 0, endsAtMs: nowMs + quota.lengthMs };
    });
    const rejections = ban && this.rejections.get(ban.lineageId);
    const endOfBanMs = ban && endOfBan(ban, rejections, nowMs - this.offsetMs);
    const bannedUntilMs = endOfBanMs && endOfBanMs + this.offsetMs;
    return bannedUntilMs === undefined
      ? { allowed: windows.every(({ used, quota }) => used < quota.limit), nowMs, windows }
      : { allowed: false, nowMs, windows, bannedUntilMs };
  }

  /** Replaces the state of a budget by its state in Redis, to continue from if Redis fails. */
  setState(budget: Budget, { windows }: RateLimitDecision, rejections?: Rejections): void {
    const nowMs = this.monotonicMs();
    for (const [index, state] of windows.entries()) this.setWindow(budget, index, nowMs, state);
    if (!budget.ban) return;
    const state = rejections && {
      ...rejections,
      windowEndsAtMs: rejections.windowEndsAtMs - this.offsetMs,
      bannedUntilMs: rejections.bannedUntilMs - this.offsetMs,
    };
    this.rejections.set(budget.ban.lineageId, state, nowMs);
  }

  /** Returns the time in whole milliseconds, so that sums with `offsetMs` are exact. */
  private monotonicMs(): number {
    const nowMs = Math.floor(this.clock.monotonicMs());
    const offsetMs = this.clock.now() - nowMs;
    // NaN at first.
    if (!(Math.abs(offsetMs - this.offsetMs) <= CLOCK_SET_MS)) this.offsetMs = offsetMs;
    return nowMs;
  }

  /** @param nowMs on the monotonic clock */
  private setWindow({ kind, id }: Budget, index: number, nowMs: number, state: QuotaState): void {
    const [key, at] = place(id, state.quota, index);
    let stored = this.windows[kind].get(key);
    // A window starts with its first request.
    if (!stored && state.used === 0) return;
    if (!stored) this.windows[kind].set(key, (stored = [0, 0, 0, 0]), nowMs);
    stored[at] = state.used;
    stored[at + 1] = state.used > 0 ? state.endsAtMs - this.offsetMs : 0;
  }

  private count(budget: Budget): RateLimitDecision {
    const before = this.peekLocal(budget);
    const nowMs = before.nowMs - this.offsetMs;
    if (before.allowed) {
      const windows = before.windows.map(({ quota, used, endsAtMs }, index): QuotaState => {
        const state = { quota, used: used + 1, endsAtMs };
        this.setWindow(budget, index, nowMs, state);
        return state;
      });
      return { ...before, windows };
    }
    if (!budget.ban || before.bannedUntilMs !== undefined) return before;
    const endMs = this.countRejection(budget.ban, nowMs);
    if (endMs === undefined) return before;
    return { ...before, bannedUntilMs: endMs + this.offsetMs, banBegins: true };
  }

  /** Returns the end of the ban that the rejection starts, or undefined. */
  private countRejection(
    { lineageId, unbanCount, afterRejections, lengthMs }: BanPolicy,
    nowMs: number,
  ): number | undefined {
    if (afterRejections === 0 || lengthMs === 0) return undefined;
    let rejections = this.rejections.get(lineageId);
    if (!rejections || rejections.unbanCount < unbanCount || rejections.windowEndsAtMs <= nowMs) {
      rejections = { count: 0, windowEndsAtMs: nowMs + MINUTE_MS, bannedUntilMs: 0, unbanCount };
      this.rejections.set(lineageId, rejections, nowMs);
    }
    if (++rejections.count < afterRejections) return undefined;
    rejections.bannedUntilMs = nowMs + lengthMs;
    // After the ban, counting restarts.
    rejections.windowEndsAtMs = 0;
    return rejections.bannedUntilMs;
  }
}

/** Returns the key of a window, and its place in Windows. Ids contain no space. */
function place(id: string, { route }: Quota, index: number): [key: string, at: number] {
  return route === undefined ? [id, 2 * index] : [`${id} ${route}`, 0];
}

function endOfWindows(windows: Windows): number {
  return Math.max(windows[1] ?? 0, windows[3] ?? 0);
}

function endOfRejections({ windowEndsAtMs, bannedUntilMs }: Rejections): number {
  return Math.max(windowEndsAtMs, bannedUntilMs);
}
