import type { BanPolicy } from './limit-storage.js';

const REFUSAL_WINDOW_MS = 60_000;
/** Entries looked at for one that is over, whenever a line of keys is refused for the first time. */
const SWEEP_STEP = 2;

/** What is known of a line's refused requests. */
export interface Refusals {
  count: number;
  /** End of the minute in which refusals are counted, in milliseconds since the epoch. */
  windowEndsAtMs: number;
  bannedUntilMs: number;
  unbanCount: number;
}

/** Refused requests and bans, by line of keys. Only keys that are refused take memory, until their minute and ban are over. */
export class Bans {
  private readonly lines = new Map<string, Refusals>();

  get size(): number {
    return this.lines.size;
  }

  /** Returns when the ban that is in force ends, or undefined. */
  endOf({ keyLine, unbanCount }: BanPolicy, nowMs: number): number | undefined {
    const refusals = this.lines.get(keyLine);
    if (!refusals || refusals.unbanCount < unbanCount) return undefined;
    return refusals.bannedUntilMs > nowMs ? refusals.bannedUntilMs : undefined;
  }

  /** Notes one refused request. Returns when the ban ends that it led to, or undefined. */
  refuse(policy: BanPolicy, nowMs: number): number | undefined {
    if (policy.afterRejections === 0 || policy.lengthMs === 0) return undefined;
    const refusals = this.current(policy, nowMs);
    if (++refusals.count < policy.afterRejections) return undefined;
    refusals.bannedUntilMs = nowMs + policy.lengthMs;
    // Counting starts anew after the ban.
    refusals.windowEndsAtMs = 0;
    return refusals.bannedUntilMs;
  }

  /** Makes a line of keys stand as it was read elsewhere. @param refusals undefined: it has none */
  set(keyLine: string, refusals: Refusals | undefined, nowMs: number): void {
    if (!refusals) {
      this.lines.delete(keyLine);
      return;
    }
    if (!this.lines.has(keyLine)) this.sweep(nowMs);
    this.lines.set(keyLine, refusals);
  }

  private current({ keyLine, unbanCount }: BanPolicy, nowMs: number): Refusals {
    const known = this.lines.get(keyLine);
    if (known && known.unbanCount >= unbanCount && known.windowEndsAtMs > nowMs) return known;
    this.sweep(nowMs);
    const windowEndsAtMs = nowMs + REFUSAL_WINDOW_MS;
    const begun = { count: 0, windowEndsAtMs, bannedUntilMs: 0, unbanCount };
    this.lines.set(keyLine, begun);
    return begun;
  }

  /** Looks at the next lines in turn: each goes, or to the end, so that no long ban hides those behind it. */
  private sweep(nowMs: number): void {
    const next = this.lines.entries();
    for (let step = 0; step < SWEEP_STEP; step++) {
      const { value } = next.next();
      if (!value) return;
      const [line, refusals] = value;
      this.lines.delete(line);
      if (refusals.windowEndsAtMs > nowMs || refusals.bannedUntilMs > nowMs)
        this.lines.set(line, refusals);
    }
  }
}
