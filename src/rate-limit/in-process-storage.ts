import { Injectable } from '@nestjs/common';
import { Clock } from '../config/clock.js';
import { Bans } from './bans.js';
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
@Injectable()
export class InProcessStorage extends LimitStorage {
  private readonly tables = {
    owner: new WindowTable(2),
    address: new WindowTable(1, MAX_ADDRESSES),
  };
  private readonly lookUps = new WindowTable(1, MAX_ADDRESSES);
  private readonly bans = new Bans();

  constructor(private readonly clock: Clock) {
    super();
  }

  override take(budget: Budget): Reading {
    const before = this.peek(budget);
    if (before.allowed) return this.count(budget, before);
    if (!budget.ban || before.bannedUntilMs !== undefined) return before;
    const bannedUntilMs = this.bans.refuse(budget.ban, before.nowMs);
    return bannedUntilMs === undefined ? before : { ...before, bannedUntilMs };
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
