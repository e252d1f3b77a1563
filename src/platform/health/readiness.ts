import { Injectable } from '@nestjs/common';
import { DatabaseProbe, type DatabaseState } from '../database/pools/database-probe.js';
import { LimitStorage } from '../rate-limit/limit-storage.js';

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

/** Decides whether load balancers should send requests to this replica. */
@Injectable()
export class Readiness {
  private shuttingDown = false;

  constructor(
    private readonly database: DatabaseProbe,
    private readonly limits: LimitStorage,
  ) {}

  /** The replica is not ready from now on. */
  beginShutdown(): void {
    this.shuttingDown = true;
  }

  /**
   * Returns the report. During shutdown, it does not wait for the database, because load balancers
   * must notice the shutdown within SHUTDOWN_DELAY_SECONDS.
   */
  async report(): Promise<ReadinessReport> {
    const database = this.shuttingDown ? undefined : await this.database.state();
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
}
