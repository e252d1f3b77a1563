import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { DatabaseSettings } from '../../config/database-settings.js';
import { APPLICATION_NAMES } from '../application-names.js';
import { BoundedPool } from '../pools/bounded-pool.js';
import { poolConfig } from '../pools/client-config.js';
import { type ReadableStandby, Standby } from './standby.js';

const PROBE_INTERVAL_MS = 1_000;
/** A read that waits this long for a standby goes to the primary, and still has time left there. */
const MAX_WAIT_MS = 1_000;
/**
 * In statement time limits: twice the longest transaction that adds an animal
 * (docs/decisions/0008).
 */
const HORIZON_STATEMENTS = 30;

/** Distributes reads among the streaming standbys in rotation, round-robin. */
@Injectable()
export class Standbys implements OnModuleInit, OnApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private lastIndex = 0;
  /** Reads by the server that served them, if there are standbys. */
  readonly statistics = { standby: 0, primary: 0 };

  constructor(private readonly standbys: readonly Standby[]) {}

  /** Whether each standby is in rotation, in the order of DATABASE_REPLICA_URLS. */
  get inRotation(): boolean[] {
    return this.standbys.map(({ isInRotation }) => isInRotation);
  }

  onModuleInit(): void {
    if (this.standbys.length === 0) return;
    this.probe();
    this.timer = setInterval(() => this.probe(), PROBE_INTERVAL_MS).unref();
  }

  /** Resolves when the queries in progress have ended. Their time limits bound the wait. */
  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.standbys.map((standby) => standby.close()));
  }

  /**
   * Returns the result of a standby, or of the primary if the standby's is null.
   *
   * @param onStandby returns null if the primary might return something else
   */
  async read<Result>(
    onStandby: (standby: ReadableStandby) => Promise<Result | null>,
    onPrimary: () => Promise<Result>,
  ): Promise<Result> {
    if (this.standbys.length === 0) return onPrimary();
    const result = (await this.next()?.read(onStandby)) ?? null;
    this.statistics[result === null ? 'primary' : 'standby']++;
    return result ?? onPrimary();
  }

  /** Returns the next standby in rotation, if there is one. */
  private next(): Standby | undefined {
    const { length } = this.standbys;
    for (let tried = 0; tried < length; tried++) {
      this.lastIndex = (this.lastIndex + 1) % length;
      const standby = this.standbys[this.lastIndex];
      if (standby?.isInRotation) return standby;
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
