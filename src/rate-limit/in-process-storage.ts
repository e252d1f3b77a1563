import { Injectable } from '@nestjs/common';
import { Clock } from '../config/clock.js';
import { Bans } from './bans.js';
import { type Budget, LimitStorage, type Reading, type WindowReading } from './limit-storage.js';
import { WindowTable } from './window-table.js';

/** Addresses remembered at a time: some 20 MB. */
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
    const nowMs = this.clock.now();
    const banned = budget.ban && this.bans.endOf(budget.ban, nowMs);
    if (banned === undefined && this.windows(budget, nowMs).every(hasRoom)) {
      const table = this.tables[budget.kind];
      budget.quotas.forEach(({ lengthMs }, window) => table.count(budget.id, window, nowMs, lengthMs));
      return { allowed: true, nowMs, windows: this.windows(budget, nowMs) };
    }
    const bannedUntilMs = banned ?? (budget.ban && this.bans.refuse(budget.ban, nowMs));
    return this.reading(false, budget, nowMs, bannedUntilMs);
  }

  override peek(budget: Budget): Reading {
    const nowMs = this.clock.now();
    const bannedUntilMs = budget.ban && this.bans.endOf(budget.ban, nowMs);
    const allowed = bannedUntilMs === undefined && this.windows(budget, nowMs).every(hasRoom);
    return this.reading(allowed, budget, nowMs, bannedUntilMs);
  }

  override takeLookUp(address: Budget): boolean {
    const nowMs = this.clock.now();
    if (this.lookUps.usedOf(address.id, 0, nowMs) >= LOOK_UPS_PER_SECOND) return false;
    this.lookUps.count(address.id, 0, nowMs, SECOND_MS);
    return true;
  }

  private reading(
    allowed: boolean,
    budget: Budget,
    nowMs: number,
    bannedUntilMs: number | undefined,
  ): Reading {
    const windows = this.windows(budget, nowMs);
    return bannedUntilMs === undefined
      ? { allowed, nowMs, windows }
      : { allowed, nowMs, windows, bannedUntilMs };
  }

  private windows({ kind, id, quotas }: Budget, nowMs: number): WindowReading[] {
    const table = this.tables[kind];
    return quotas.map((quota, window) => ({
      quota,
      used: table.usedOf(id, window, nowMs),
      endsAtMs: table.endOf(id, window, nowMs, quota.lengthMs),
    }));
  }
}

function hasRoom({ used, quota }: WindowReading): boolean {
  return used < quota.limit;
}
