import { type Clock, MINUTE_MS } from '../config/clock.js';
import {
  type BanPolicy,
  type Budget,
  LimitStorage,
  type Quota,
  type QuotaState,
  type RateLimitDecision,
  type Rejections,
} from './limit-storage.js';
import { WindowTable } from './window-table.js';

/** The highest number of counted addresses. Their memory is documented in docs/limits.md. */
const MAX_ADDRESSES = 200_000;
/** How many lineages are checked, and evicted if they have ended, whenever one is added. */
const SWEEP_STEP = 2;

/** Returns when the active ban ends, or undefined if there is none. */
export function endOfBan(
  { unbanCount }: BanPolicy,
  rejections: Rejections | undefined,
  nowMs: number,
): number | undefined {
  if (!rejections || rejections.unbanCount < unbanCount) return undefined;
  return rejections.bannedUntilMs > nowMs ? rejections.bannedUntilMs : undefined;
}

/** Counts in the memory of this process. Every decision is synchronous, and therefore atomic. */
export class InProcessStorage extends LimitStorage {
  /** The windows of all requests, and those of routes with `@Throttle()` by their own keys. */
  private readonly tables = {
    owner: new WindowTable(2),
    address: new WindowTable(1, MAX_ADDRESSES),
  };
  private readonly bans = new Bans();
  override readonly circuit = undefined;

  constructor(private readonly clock: Clock) {
    super();
  }

  override consume(budget: Budget): Promise<RateLimitDecision> {
    return Promise.resolve(this.count(budget));
  }

  override peek(budget: Budget): Promise<RateLimitDecision> {
    return Promise.resolve(this.peekLocal(budget));
  }

  override peekLocal({ kind, id, quotas, ban }: Budget): RateLimitDecision {
    const nowMs = this.clock.now();
    const windows = quotas.map((quota, index): QuotaState => {
      const [key, window] = place(id, quota, index);
      const { used, endsAtMs } = this.tables[kind].read(key, window, nowMs, quota.lengthMs);
      return { quota, used, endsAtMs };
    });
    const bannedUntilMs = ban && this.bans.endOf(ban, nowMs);
    return bannedUntilMs === undefined
      ? { allowed: windows.every(({ used, quota }) => used < quota.limit), nowMs, windows }
      : { allowed: false, nowMs, windows, bannedUntilMs };
  }

  /** Replaces the state of a budget by its state in Redis, to continue from if Redis fails. */
  setState(budget: Budget, { nowMs, windows }: RateLimitDecision, rejections?: Rejections): void {
    for (const [index, state] of windows.entries()) this.set(budget, index, nowMs, state);
    if (budget.ban) this.bans.set(budget.ban.lineageId, rejections, nowMs);
  }

  private set({ kind, id }: Budget, index: number, nowMs: number, state: QuotaState): void {
    const [key, window] = place(id, state.quota, index);
    this.tables[kind].set(key, window, nowMs, state);
  }

  private count(budget: Budget): RateLimitDecision {
    const before = this.peekLocal(budget);
    const { allowed, nowMs } = before;
    if (allowed) {
      const windows = before.windows.map(({ quota, used, endsAtMs }, index): QuotaState => {
        const state = { quota, used: used + 1, endsAtMs };
        this.set(budget, index, nowMs, state);
        return state;
      });
      return { allowed, nowMs, windows };
    }
    if (!budget.ban || before.bannedUntilMs !== undefined) return before;
    const bannedUntilMs = this.bans.recordRejection(budget.ban, nowMs);
    return bannedUntilMs === undefined ? before : { ...before, bannedUntilMs, banBegins: true };
  }
}

/** Returns the key and the index of a window in its table. Ids contain no space. */
function place(id: string, { route }: Quota, index: number): [key: string, window: number] {
  return route === undefined ? [id, index] : [`${id} ${route}`, 0];
}

/** Rejected requests and bans, by lineage. */
export class Bans {
  private readonly entries = new Map<string, Rejections>();

  get size(): number {
    return this.entries.size;
  }

  /** Returns when the active ban ends, or undefined if there is none. */
  endOf(policy: BanPolicy, nowMs: number): number | undefined {
    return endOfBan(policy, this.entries.get(policy.lineageId), nowMs);
  }

  /** Counts one rejected request. Returns the end of the ban that it starts, or undefined. */
  recordRejection(
    { lineageId, unbanCount, afterRejections, lengthMs }: BanPolicy,
    nowMs: number,
  ): number | undefined {
    if (afterRejections === 0 || lengthMs === 0) return undefined;
    let rejections = this.entries.get(lineageId);
    if (!rejections || rejections.unbanCount < unbanCount || rejections.windowEndsAtMs <= nowMs) {
      rejections = { count: 0, windowEndsAtMs: nowMs + MINUTE_MS, bannedUntilMs: 0, unbanCount };
      this.set(lineageId, rejections, nowMs);
    }
    if (++rejections.count < afterRejections) return undefined;
    rejections.bannedUntilMs = nowMs + lengthMs;
    // After the ban, counting restarts.
    rejections.windowEndsAtMs = 0;
    return rejections.bannedUntilMs;
  }

  /** Replaces the entry of a lineage. @param rejections undefined: deletes it */
  set(lineageId: string, rejections: Rejections | undefined, nowMs: number): void {
    if (!rejections) {
      this.entries.delete(lineageId);
      return;
    }
    if (!this.entries.has(lineageId)) this.sweep(nowMs);
    this.entries.set(lineageId, rejections);
  }

  /** Evicts the oldest entries if they have ended, otherwise moves them to the end of the queue. */
  private sweep(nowMs: number): void {
    const oldest = this.entries.entries();
    for (let step = 0; step < SWEEP_STEP; step++) {
      const { value } = oldest.next();
      if (!value) return;
      const [lineageId, rejections] = value;
      this.entries.delete(lineageId);
      if (rejections.windowEndsAtMs > nowMs || rejections.bannedUntilMs > nowMs) {
        this.entries.set(lineageId, rejections);
      }
    }
  }
}
