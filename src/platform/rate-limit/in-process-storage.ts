import { type Clock, MINUTE_MS } from '../config/clock.js';
import {
  type BanPolicy,
  type Budget,
  endOfBan,
  type LimitMode,
  LimitStorage,
  type Quota,
  type QuotaState,
  type RateLimitDecision,
  type Rejections,
} from './limit-storage.js';

/** The highest number of counted addresses. */
const MAX_ADDRESSES = 200_000;

/** Old entries that a new key checks: more than one, so that none stays for long. */
const SWEEP_STEP = 3;

/** A difference between the clocks that changes by more shows that the wall clock was set. */
const CLOCK_SET_MS = 100;

/** `used` and the end of each window of a budget. Objects would take more memory. */
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
  /** The index in Windows, by the id of the quota. */
  private readonly places = new Map<string, number>();
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
    const monotonicMs = this.monotonicMs();
    const nowMs = monotonicMs + this.offsetMs;
    const stored = this.windows[kind].get(id);
    const windows = quotas.map((quota): QuotaState => {
      const place = this.placeOf(quota);
      const endMs = stored?.[place + 1] ?? 0;
      return endMs > monotonicMs
        ? { quota, used: stored?.[place] ?? 0, endsAtMs: endMs + this.offsetMs }
        : { quota, used: 0, endsAtMs: nowMs + quota.lengthMs };
    });
    const endMs = ban ? endOfBan(ban, this.rejections.get(ban.lineageId), monotonicMs) : 0;
    const allowed = endMs === 0 && windows.every(({ used, quota }) => used < quota.limit);
    const bannedUntilMs = endMs && endMs + this.offsetMs;
    return { allowed, nowMs, windows, bannedUntilMs, banBegins: false };
  }

  /** Replaces the state of a budget by its state in Redis, to continue from if Redis fails. */
  setState(budget: Budget, { windows }: RateLimitDecision, rejections?: Rejections): void {
    const nowMs = this.monotonicMs();
    this.setWindows(budget, windows, nowMs);
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

  private placeOf({ id }: Quota): number {
    let place = this.places.get(id);
    if (place === undefined) this.places.set(id, (place = 2 * this.places.size));
    return place;
  }

  /** @param nowMs on the monotonic clock */
  private setWindows(
    { kind, id }: Budget,
    windows: RateLimitDecision['windows'],
    nowMs: number,
  ): void {
    let stored = this.windows[kind].get(id);
    // A window starts with its first request.
    if (!stored && windows.every(({ used }) => used === 0)) return;
    if (!stored) this.windows[kind].set(id, (stored = []), nowMs);
    for (const { quota, used, endsAtMs } of windows) {
      const place = this.placeOf(quota);
      stored[place] = used;
      stored[place + 1] = used > 0 ? endsAtMs - this.offsetMs : 0;
    }
  }

  private count(budget: Budget): RateLimitDecision {
    const decision = this.peekLocal(budget);
    const nowMs = decision.nowMs - this.offsetMs;
    if (decision.allowed) {
      for (const window of decision.windows) window.used++;
      this.setWindows(budget, decision.windows, nowMs);
    }
    if (decision.allowed || !budget.ban || decision.bannedUntilMs > 0) return decision;
    const endMs = this.countRejection(budget.ban, nowMs);
    if (endMs === 0) return decision;
    return { ...decision, bannedUntilMs: endMs + this.offsetMs, banBegins: true };
  }

  /** Returns the end of the ban that the rejection starts, or 0. */
  private countRejection(
    { lineageId, unbanCount, afterRejections, lengthMs }: BanPolicy,
    nowMs: number,
  ): number {
    if (afterRejections === 0 || lengthMs === 0) return 0;
    let rejections = this.rejections.get(lineageId);
    if (!rejections || rejections.unbanCount < unbanCount || rejections.windowEndsAtMs <= nowMs) {
      rejections = { count: 0, windowEndsAtMs: nowMs + MINUTE_MS, bannedUntilMs: 0, unbanCount };
      this.rejections.set(lineageId, rejections, nowMs);
    }
    if (++rejections.count < afterRejections) return 0;
    rejections.bannedUntilMs = nowMs + lengthMs;
    // After the ban, counting restarts.
    rejections.windowEndsAtMs = 0;
    return rejections.bannedUntilMs;
  }
}

function endOfWindows(windows: Windows): number {
  return Math.max(...windows.filter((_, index) => index % 2 === 1));
}

function endOfRejections({ windowEndsAtMs, bannedUntilMs }: Rejections): number {
  return Math.max(windowEndsAtMs, bannedUntilMs);
}

/**
 * A map of entries that end. It needs no timer: a new key evicts old entries that have ended, which
 * it checks round-robin. Every access is O(1) on average.
 */
export class ExpiringMap<Value> {
  private readonly entries = new Map<string, Value>();
  /** Every entry is ahead of it: those that it has passed were deleted or moved to the end. */
  private readonly sweep = this.entries.entries();

  /**
   * @param endOf returns when an entry ends, in milliseconds of the monotonic clock
   * @param maxSize at this number, a new key replaces another one
   */
  constructor(
    private readonly endOf: (value: Value) => number,
    private readonly maxSize = Infinity,
  ) {}

  /** Returns the value, which may have ended. */
  get(key: string): Value | undefined {
    return this.entries.get(key);
  }

  /** @param value undefined: deletes the entry */
  set(key: string, value: Value | undefined, nowMs: number): void {
    if (value === undefined) {
      this.entries.delete(key);
      return;
    }
    if (!this.entries.has(key)) this.evict(nowMs);
    this.entries.set(key, value);
  }

  private evict(nowMs: number): void {
    // Map's own iteration from the first entry would step over every deleted one each time.
    for (let checks = Math.min(SWEEP_STEP, this.entries.size); checks > 0; checks--) {
      const next = this.sweep.next();
      if (next.done) return;
      const [key, value] = next.value;
      const isFull = this.entries.size >= this.maxSize;
      this.entries.delete(key);
      if (!isFull && this.endOf(value) > nowMs) this.entries.set(key, value);
    }
  }
}
