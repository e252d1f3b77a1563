import type { Clock } from '../config/clock.js';
import { Bans, type Refusals } from './bans.js';
import {
  type Budget,
  LimitStorage,
  type LookUpRefusal,
  type Reading,
  type WindowReading,
} from './limit-storage.js';
import { WindowTable } from './window-table.js';

/** Addresses remembered at a time: some 45 MB when all are IPv6 networks. */
const MAX_ADDRESSES = 200_000;
const LOOK_UPS_PER_SECOND = 10;
const SECOND_MS = 1_000;

/** Counts in the memory of this process; begins anew with it. Nothing here waits, so every call is atomic. */
export class InProcessStorage extends LimitStorage {
  private readonly tables = {
    owner: new WindowTable(2),
    address: new WindowTable(1, MAX_ADDRESSES),
  };
  private readonly lookUps = new WindowTable(1, MAX_ADDRESSES);
  private readonly bans = new Bans();
  override readonly circuit = undefined;

  constructor(private readonly clock: Clock) {
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

  override takeLookUp(address: Budget): LookUpRefusal {
    const reading = this.peek(address);
    if (reading.allowed) return undefined;
    const { nowMs } = reading;
    const { used } = this.lookUps.read(address.id, 0, nowMs, SECOND_MS);
    if (used >= LOOK_UPS_PER_SECOND) return reading;
    this.lookUps.count(address.id, 0, nowMs, SECOND_MS);
    return undefined;
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
