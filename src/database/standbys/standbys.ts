import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { DatabaseSettings } from '../../config/database-settings.js';
import { APPLICATION_NAMES } from '../application-names.js';
import { BoundedPool } from '../pools/bounded-pool.js';
import { poolConfig } from '../pools/client-config.js';
import { type ReadableStandby, Standby } from './standby.js';

const PROBE_EVERY_MS = 1_000;
/** Who waits this long for a connection or an answer asks the primary, and has time left for that. */
const MAX_WAIT_MS = 1_000;
/** In statement time limits: twice what the longest transaction that adds an animal may take (docs/decisions/0008). */
const HORIZON_STATEMENTS = 30;

/** The streaming standbys, for reads that may be answered by one: in turns, those in service. */
@Injectable()
export class Standbys implements OnModuleInit, OnApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private turn = 0;
  /** Reads by who answered them, where there are standbys: one of them, or the primary after all. */
  readonly statistics = { standby: 0, primary: 0 };

  constructor(private readonly standbys: readonly Standby[]) {}

  /** Which are in service, in the order of the setting. */
  get inService(): boolean[] {
    return this.standbys.map((standby) => standby.inService);
  }

  onModuleInit(): void {
    if (this.standbys.length === 0) return;
    this.probe();
    this.timer = setInterval(() => this.probe(), PROBE_EVERY_MS);
    this.timer.unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    // Bounded: what is under way has its time limits.
    await Promise.all(this.standbys.map((standby) => standby.close()));
  }

  /**
   * Returns what a standby answers, where that is conclusive, else what the primary does.
   *
   * @param onStandby asks a standby; null: the primary might say otherwise
   * @param onPrimary asks the primary
   */
  read<Result>(
    onStandby: (standby: ReadableStandby) => Promise<Result | null>,
    onPrimary: () => Promise<Result>,
  ): Promise<Result> {
    return this.standbys.length === 0 ? onPrimary() : this.readInTurn(onStandby, onPrimary);
  }

  private async readInTurn<Result>(
    onStandby: (standby: ReadableStandby) => Promise<Result | null>,
    onPrimary: () => Promise<Result>,
  ): Promise<Result> {
    const result = (await this.next()?.read(onStandby)) ?? null;
    this.statistics[result === null ? 'primary' : 'standby']++;
    return result ?? onPrimary();
  }

  private next(): Standby | undefined {
    const { length } = this.standbys;
    for (let tried = 0; tried < length; tried++) {
      this.turn = (this.turn + 1) % length;
      const standby = this.standbys[this.turn];
      if (standby?.inService) return standby;
    }
    return undefined;
  }

  private probe(): void {
    for (const standby of this.standbys) void standby.probe();
  }
}

/** Creates the standbys of DATABASE_REPLICA_URLS. */
export function createStandbys(settings: DatabaseSettings): Standbys {
  const use = {
    forRequests: true,
    applicationName: APPLICATION_NAMES.standbyReads,
    connectionTimeoutMs: Math.min(settings.poolWaitMs, MAX_WAIT_MS),
    statementTimeoutMs: Math.min(settings.statementTimeoutMs, MAX_WAIT_MS),
  };
  const horizonMs = HORIZON_STATEMENTS * settings.statementTimeoutMs;
  const standbys = settings.replicaUrls.map((connectionString, index) => {
    const pool = new BoundedPool(poolConfig({ connectionString }, settings, use));
    return new Standby(index, pool, horizonMs);
  });
  return new Standbys(standbys);
}
