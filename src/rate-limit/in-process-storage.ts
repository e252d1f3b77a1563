import { type Clock, SECOND_MS } from '../config/clock.js';
import { Bans, type Rejections } from './bans.js';
import {
  type Budget,
  LimitStorage,
  type QuotaState,
  type RateLimitDecision,
  type Reservation,
} from './limit-storage.js';
import { WindowTable } from './window-table.js';

/** The highest number of counted addresses. Their memory is documented in docs/limits.md. */
const MAX_ADDRESSES = 200_000;

/**
 * Counts in the memory of this process. A restart resets the counters. Every decision is made
 * synchronously, which makes it atomic.
 */
export class InProcessStorage extends LimitStorage {
  private readonly tables = {
    owner: new WindowTable(2),
    address: new WindowTable(1, MAX_ADDRESSES),
  };
  private readonly lookups = new WindowTable(1, MAX_ADDRESSES);
  private readonly bans = new Bans();
  override readonly circuit = undefined;

  constructor(
    private readonly clock: Clock,
    private readonly lookupsPerSecond: number,
  ) {
    super();
  }

  override consume(budget: Budget): Promise<RateLimitDecision> {
    return Promise.resolve(this.count(budget));
  }

  override peek(budget: Budget): Promise<RateLimitDecision> {
    return Promise.resolve(this.read(budget));
  }

  override reserve(address: Budget): Promise<Reservation> {
    const decision = this.count(address);
    const mayLookUp = decision.allowed || this.countLookup(address.id, decision.nowMs);
    return Promise.resolve({ decision, mayLookUp });
  }

  override refund(address: Budget, reserved: RateLimitDecision): Promise<RateLimitDecision> {
    if (!reserved.allowed) return Promise.resolve(reserved);
    const table = this.tables[address.kind];
    const { nowMs, windows } = this.read(address);
    for (const [window, { used, endsAtMs }] of windows.entries()) {
      if (used === 0 || endsAtMs !== reserved.windows[window]?.endsAtMs) continue;
      table.set(address.id, window, nowMs, used > 1 ? { used: used - 1, endsAtMs } : undefined);
    }
    return this.peek(address);
  }

  /**
   * Replaces the state of a budget by its state in Redis, so that this process can continue from
   * there when Redis becomes unavailable.
   *
   * @param rejections the entry of the budget's lineage, undefined if there is none
   */
  setState(
    { kind, id, ban }: Budget,
    { nowMs, windows }: RateLimitDecision,
    rejections?: Rejections,
  ): void {
    const table = this.tables[kind];
    for (const [window, state] of windows.entries()) {
      table.set(id, window, nowMs, state.used > 0 ? state : undefined);
    }
    if (ban) this.bans.set(ban.lineageId, rejections, nowMs);
  }

  private read({ kind, id, quotas, ban }: Budget): RateLimitDecision {
    const nowMs = this.clock.now();
    const table = this.tables[kind];
    const windows = quotas.map((quota, window): QuotaState => {
      const { used, endsAtMs } = table.read(id, window, nowMs, quota.lengthMs);
      return { quota, used, endsAtMs };
    });
    const bannedUntilMs = ban && this.bans.endOf(ban, nowMs);
    return bannedUntilMs === undefined
      ? { allowed: windows.every(hasRoom), nowMs, windows }
      : { allowed: false, nowMs, windows, bannedUntilMs };
  }

  private count(budget: Budget): RateLimitDecision {
    const before = this.read(budget);
    const { allowed, nowMs, windows } = before;
    if (allowed) {
      const table = this.tables[budget.kind];
      const counted = windows.map(({ quota, used, endsAtMs }, window): QuotaState => {
        table.count(budget.id, window, nowMs, quota.lengthMs);
        return { quota, used: used + 1, endsAtMs };
      });
      return { allowed, nowMs, windows: counted };
    }
    if (!budget.ban || before.bannedUntilMs !== undefined) return before;
    const bannedUntilMs = this.bans.recordRejection(budget.ban, nowMs);
    return bannedUntilMs === undefined ? before : { ...before, bannedUntilMs, banBegins: true };
  }

  /** Counts a lookup for an address over its budget. Returns false at the limit of this second. */
  private countLookup(id: string, nowMs: number): boolean {
    const { used } = this.lookups.read(id, 0, nowMs, SECOND_MS);
    if (used >= this.lookupsPerSecond) return false;
    this.lookups.count(id, 0, nowMs, SECOND_MS);
    return true;
  }
}

function hasRoom({ used, quota }: QuotaState): boolean {
  return used < quota.limit;
}
