import { MINUTE_MS } from '../config/clock.js';
import type { BanPolicy } from './limit-storage.js';

/** How many entries are checked, and evicted if they have ended, whenever a lineage is added. */
const SWEEP_STEP = 2;

/** The rejected requests of a lineage, and its ban. */
export interface Rejections {
  count: number;
  /** The end of the minute in which rejections are counted, in milliseconds since the epoch. */
  windowEndsAtMs: number;
  /** The end of the latest ban; 0 if there was none. */
  bannedUntilMs: number;
  unbanCount: number;
}

/**
 * Rejected requests and bans, by lineage. An entry can be evicted when its minute and its ban have
 * ended.
 */
export class Bans {
  private readonly entries = new Map<string, Rejections>();

  get size(): number {
    return this.entries.size;
  }

  /** Returns when the active ban ends, or undefined if there is none. */
  endOf({ lineageId, unbanCount }: BanPolicy, nowMs: number): number | undefined {
    const rejections = this.entries.get(lineageId);
    if (!rejections || rejections.unbanCount < unbanCount) return undefined;
    return rejections.bannedUntilMs > nowMs ? rejections.bannedUntilMs : undefined;
  }

  /** Counts one rejected request. Returns the end of the ban that it starts, or undefined. */
  recordRejection(policy: BanPolicy, nowMs: number): number | undefined {
    if (policy.afterRejections === 0 || policy.lengthMs === 0) return undefined;
    const rejections = this.current(policy, nowMs);
    if (++rejections.count < policy.afterRejections) return undefined;
    rejections.bannedUntilMs = nowMs + policy.lengthMs;
    // After the ban, counting restarts.
    rejections.windowEndsAtMs = 0;
    return rejections.bannedUntilMs;
  }

  /**
   * Replaces the entry of a lineage by its entry in Redis.
   *
   * @param rejections undefined: no entry
   */
  set(lineageId: string, rejections: Rejections | undefined, nowMs: number): void {
    if (!rejections) {
      this.entries.delete(lineageId);
      return;
    }
    if (!this.entries.has(lineageId)) this.sweep(nowMs);
    this.entries.set(lineageId, rejections);
  }

  private current({ lineageId, unbanCount }: BanPolicy, nowMs: number): Rejections {
    const existing = this.entries.get(lineageId);
    if (existing && existing.unbanCount >= unbanCount && existing.windowEndsAtMs > nowMs) {
      return existing;
    }
    this.sweep(nowMs);
    const created = { count: 0, windowEndsAtMs: nowMs + MINUTE_MS, bannedUntilMs: 0, unbanCount };
    this.entries.set(lineageId, created);
    return created;
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
