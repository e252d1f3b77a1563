import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Settings } from '../config/settings.js';
import { LookupPool } from '../database/pools/lookup-pool.js';
import { LimitStorage } from '../rate-limit/limit-storage.js';

/** `read-only`: it responds but accepts no writes, for example because it is a standby. */
type DatabaseState = 'up' | 'read-only' | 'down';

/** Whether this replica can serve requests, and the checks that decide it. */
export interface ReadinessReport {
  /** `degraded`: the replica serves requests, but Redis is down or the database accepts no writes. */
  status: 'ok' | 'degraded' | 'unavailable';
  checks: {
    /** Not checked during shutdown. */
    database?: DatabaseState;
    /** Only with REDIS_URL. */
    redis?: 'up' | 'down';
    shutdown: 'no' | 'in progress';
  };
}

/** On a standby, every transaction is read-only. */
const IS_READ_ONLY = `SELECT current_setting('transaction_read_only')::boolean AS "readOnly"`;

/** Decides whether load balancers should send requests to this replica. */
@Injectable()
export class Readiness {
  private shuttingDown = false;
  private databaseCheck: Promise<DatabaseState> | undefined;

  constructor(
    private readonly lookups: LookupPool,
    private readonly limits: LimitStorage,
    private readonly settings: Settings,
  ) {}

  /** The replica is not ready from now on. */
  beginShutdown(): void {
    this.shuttingDown = true;
  }

  /**
   * Returns the report. The database is down when it does not respond within
   * READINESS_TIMEOUT_SECONDS. During shutdown, the report does not wait for the database, because
   * load balancers must notice the shutdown within SHUTDOWN_DELAY_SECONDS.
   */
  async report(): Promise<ReadinessReport> {
    const database = this.shuttingDown ? undefined : await this.database();
    const { circuit } = this.limits;
    const isDegraded = database === 'read-only' || circuit?.isOpen === true;
    const isUnavailable = database === 'down' || this.shuttingDown;
    return {
      status: isUnavailable ? 'unavailable' : isDegraded ? 'degraded' : 'ok',
      checks: {
        ...(database && { database }),
        ...(circuit && { redis: circuit.isOpen ? 'down' : 'up' }),
        shutdown: this.shuttingDown ? 'in progress' : 'no',
      },
    };
  }

  private async database(): Promise<DatabaseState> {
    // A probe must not fail because lookups wait, and is not a rejected lookup.
    if (this.lookups.pool.isSaturated) return this.lookups.isUnreachable ? 'down' : 'up';
    // Concurrent probes share one query, because anyone can send any number of probes. It uses a
    // connection for lookups of API keys, because those that serve requests can all be busy.
    return (this.databaseCheck ??= Promise.race([
      this.lookups
        .query<{ readOnly: boolean }>(IS_READ_ONLY)
        .then(([row]): DatabaseState => (row?.readOnly ? 'read-only' : 'up')),
      // If the process was busy, it reads a response that has arrived before it runs the immediate.
      delay(this.settings.database.readinessTimeoutMs, undefined, { ref: false }).then(() =>
        setImmediate('down' as const),
      ),
    ])
      .catch(() => 'down' as const)
      .finally(() => (this.databaseCheck = undefined)));
  }
}
