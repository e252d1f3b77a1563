import { Injectable } from '@nestjs/common';
import { Settings } from '../config/settings.js';
import { LookupPool } from '../database/pools/lookup-pool.js';
import { LimitStorage } from '../rate-limit/limit-storage.js';

/** Whether this replica can serve requests, and the checks that decide it. */
export interface ReadinessReport {
  /** `degraded`: the replica serves requests, but Redis is unavailable. */
  status: 'ok' | 'degraded' | 'unavailable';
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
  private databaseCheck: Promise<'up' | 'down'> | undefined;

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
    const isReady = database === 'up' && !this.shuttingDown;
    return {
      status: isReady ? (circuit?.isOpen ? 'degraded' : 'ok') : 'unavailable',
      checks: {
        ...(database && { database }),
        ...(circuit && { redis: circuit.isOpen ? 'down' : 'up' }),
        shutdown: this.shuttingDown ? 'in progress' : 'no',
      },
    };
  }

  private async database(): Promise<'up' | 'down'> {
    // Concurrent probes share one query, because anyone can send any number of probes. It uses a
    // connection for lookups of API keys, because those that serve requests can all be busy.
    this.databaseCheck ??= this.lookups
      .query('SELECT 1')
      .then(
        () => 'up' as const,
        () => 'down' as const,
      )
      .finally(() => (this.databaseCheck = undefined));
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<'down'>((resolve) => {
      // If the process was busy, it reads a response that has arrived before it runs the immediate.
      const late = () => setImmediate(() => resolve('down'));
      timer = setTimeout(late, this.settings.database.readinessTimeoutMs);
    });
    const database = await Promise.race([this.databaseCheck, timeout]);
    clearTimeout(timer);
    return database;
  }
}
