import { Injectable } from '@nestjs/common';
import { Settings } from '../config/settings.js';
import { LookupPools } from '../database/pools/lookup-pools.js';
import { RateLimiter } from '../rate-limit/rate-limiter.js';

/** Whether the service can take requests, and why not. */
export interface ReadinessReport {
  ready: boolean;
  /** Requests are served, but something is missing. */
  degraded: boolean;
  checks: {
    /** Not checked during shutdown. */
    database?: 'up' | 'down';
    /** Only where counters are to be in Redis. */
    redis?: 'up' | 'down';
    shutdown: 'no' | 'in progress';
  };
}

/** Knows whether this replica should get requests. */
@Injectable()
export class Readiness {
  private shuttingDown = false;
  private databaseCheck: Promise<boolean> | undefined;

  constructor(
    private readonly pools: LookupPools,
    private readonly limiter: RateLimiter,
    private readonly settings: Settings,
  ) {}

  /** From now on the replica is not ready, so that load balancers stop sending requests to it. */
  beginShutdown(): void {
    this.shuttingDown = true;
  }

  /**
   * Checks the database on a connection that serves no requests. The database is down when it does not respond within
   * READINESS_TIMEOUT_SECONDS. During shutdown the report comes at once: load balancers have to notice it within
   * SHUTDOWN_DELAY_SECONDS, whatever the database does.
   */
  async report(): Promise<ReadinessReport> {
    const database = this.shuttingDown ? undefined : await this.database();
    const { circuit } = this.limiter;
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

  /** Anyone may ask, as often as they like, so that all share one query. */
  private async database(): Promise<'up' | 'down'> {
    this.databaseCheck ??= this.databaseResponds().finally(() => (this.databaseCheck = undefined));
    const responds = await withinOr(
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
async function withinOr<Value>(
  limitMs: number,
  promise: Promise<Value>,
  fallback: Value,
): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<Value>((resolve) => {
    // A response that arrived while this process was busy is read before the immediate.
    timer = setTimeout(() => setImmediate(() => resolve(fallback)), limitMs);
  });
  const value = await Promise.race([promise, timeout]);
  clearTimeout(timer);
  return value;
}
