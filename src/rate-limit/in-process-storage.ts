import type { Clock } from '../config/clock.js';
import { Bans, type Refusals } from './bans.js';
import {
  type Budget,
  LimitStorage,
  type LookupLimit,
  type Reading,
  type Reservation,
  type WindowReading,
} from './limit-storage.js';
import { WindowTable } from './window-table.js';

/** Addresses remembered at a time: some 45 MB when all are IPv6 networks. */
const MAX_ADDRESSES = 200_000;
const SECOND_MS = 1_000;

/** Counts in the memory of this process; begins anew with it. Nothing here waits, so every call is atomic. */
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
    private readonly lookupLimit: LookupLimit,
  ) {
    super();
  }

  override take(budget: Budget): Reading {
    const before = this.peek(budget);
    if (before.allowed) return this.count(budget, before);
    if (!budget.ban || before.bannedUntilMs !== undefined) return before;
    const bannedUntilMs = this.bans.refuse(budget.ban, before.nowMs);
    return bannedUntilMs === undefined ? before : { ...before, bannedUntilMs, banBegins: true };
  }

  override peek({ kind, id, quotas, ban }: Budget): Reading {
    const nowMs = this.clock.now();
    const table = this.tables[kind];
    const windows = quotas.map((quota, window): WindowReading => {
      const { used, endsAtMs } = table.read(id, window, nowMs, quota.lengthMs);
      return { quota, used, endsAtMs };
    });
    const bannedUntilMs = ban && this.bans.endOf(ban, nowMs);
    return bannedUntilMs === undefined
      ? { allowed: windows.every(hasRoom), nowMs, windows }
      : { allowed: false, nowMs, windows, bannedUntilMs };
  }

  override reserve(address: Budget): Reservation {
    const reading = this.take(address);
    return {
      reading,
      mayLookUp: reading.allowed || this.countLookup(address.id, reading.nowMs),
      giveBack: () => (reading.allowed ? this.giveBack(address, reading) : reading),
    };
  }

  /** Removes one request from the windows of a budget that are still those of the reading in which it was counted. */
  giveBack(budget: Budget, { windows: counted }: Reading): Reading {
    const table = this.tables[budget.kind];
    const { nowMs, windows } = this.peek(budget);
    for (const [window, { used, endsAtMs }] of windows.entries()) {
      if (used === 0 || endsAtMs !== counted[window]?.endsAtMs) continue;
      table.set(budget.id, window, nowMs, used > 1 ? { used: used - 1, endsAtMs } : undefined);
    }
    return this.peek(budget);
  }

  /**
   * Takes over how a budget stands in the counters that replicas share, to count on from there without them.
   *
   * @param refusals of the budget's line of keys
   */
  record({ kind, id, ban }: Budget, { nowMs, windows }: Reading, refusals?: Refusals): void {
    const table = this.tables[kind];
    for (const [window, state] of windows.entries()) {
      table.set(id, window, nowMs, state.used > 0 ? state : undefined);
    }
    if (ban) this.bans.set(ban.keyLine, refusals, nowMs);
  }

  /** Counts one lookup beyond the budget, unless the limit of this second is reached. */
  private countLookup(id: string, nowMs: number): boolean {
    const { used } = this.lookups.read(id, 0, nowMs, SECOND_MS);
    if (used >= this.lookupLimit.perSecond) return false;
    this.lookups.count(id, 0, nowMs, SECOND_MS);
    return true;
  }

  private count({ kind, id }: Budget, { nowMs, windows }: Reading): Reading {
    const table = this.tables[kind];
    const counted = windows.map(({ quota, used, endsAtMs }, window): WindowReading => {
      table.count(id, window, nowMs, quota.lengthMs);
      return { quota, used: used + 1, endsAtMs };
    });
    return { allowed: true, nowMs, windows: counted };
  }
}

function hasRoom({ used, quota }: WindowReading): boolean {
  return used < quota.limit;
}
