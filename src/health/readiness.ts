import { Injectable } from '@nestjs/common';
import { Settings } from '../config/settings.js';
import { LookupPools } from '../database/pools/lookup-pools.js';
import { LimitStorage } from '../rate-limit/limit-storage.js';

/** Whether this replica can serve requests, and the checks that decide it. */
export interface ReadinessReport {
  ready: boolean;
  /** The replica serves requests, but Redis is unavailable. */
  degraded: boolean;
  checks: {
    /** Not checked during shutdown. */
    database?: 'up' | 'down';
    /** Only with REDIS_URL. */
    redis?: 'up' | 'down';
    shutdown: 'no' | 'in progress';
  };
}

/** Decides whether load balancers should send requests to this replica. */
@Injectable()
export class Readiness {
  private shuttingDown = false;
  private databaseCheck: Promise<boolean> | undefined;

  constructor(
    private readonly pools: LookupPools,
    private readonly limits: LimitStorage,
    private readonly settings: Settings,
  ) {}

  /** The replica is not ready from now on, so that load balancers stop sending requests to it. */
  beginShutdown(): void {
    this.shuttingDown = true;
  }

  /**
   * Checks the database on a connection for lookups of API keys, because the connections that serve
   * requests can all be busy. The database is down when it does not respond within
   * READINESS_TIMEOUT_SECONDS. During shutdown, the report does not wait for the
   * database, because load balancers must notice the shutdown within SHUTDOWN_DELAY_SECONDS.
   */
  async report(): Promise<ReadinessReport> {
    const database = this.shuttingDown ? undefined : await this.database();
    const { circuit } = this.limits;
    return {
      ready: database === 'up' && !this.shuttingDown,
      degraded: circuit?.isOpen === true,
      checks: {
        ...(database && { database }),
        ...(circuit && { redis: circuit.isOpen ? 'down' : 'up' }),
        shutdown: this.shuttingDown ? 'in progress' : 'no',
      },
    };
  }

  /** Concurrent probes share one query, because anyone can send any number of probes. */
  private async database(): Promise<'up' | 'down'> {
    this.databaseCheck ??= this.databaseResponds().finally(() => (this.databaseCheck = undefined));
    const responds = await withTimeout(
      this.settings.database.readinessTimeoutMs,
      this.databaseCheck,
      false,
    );
    return responds ? 'up' : 'down';
  }

  private async databaseResponds(): Promise<boolean> {
    try {
      await this.pools.query('cached', 'SELECT 1');
      return true;
    } catch {
      return false;
    }
  }
}

/** Returns what the promise resolves to, or the fallback when that takes longer than `limitMs`. */
async function withTimeout<Value>(
  limitMs: number,
  promise: Promise<Value>,
  fallback: Value,
): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<Value>((resolve) => {
    // If the process was busy, it reads a response that has arrived before it runs the immediate.
    timer = setTimeout(() => setImmediate(() => resolve(fallback)), limitMs);
  });
  const value = await Promise.race([promise, timeout]);
  clearTimeout(timer);
  return value;
}
