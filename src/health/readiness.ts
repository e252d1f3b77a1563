import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { RateLimiter } from '../rate-limit/rate-limiter.js';

/** Whether the service can take requests, and why not. */
export interface ReadinessReport {
  ready: boolean;
  /** Requests are served, but something is missing. */
  degraded: boolean;
  checks: {
    /** While shutting down it is not asked. */
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
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly limiter: RateLimiter,
  ) {}

  /** From now on the replica is not ready, so that load balancers turn away from it. */
  beginShutdown(): void {
    this.shuttingDown = true;
  }

  /**
   * Asks the database; the pool's and the statement's time limits bound the wait. While shutting down the answer comes at
   * once: load balancers are to turn away within SHUTDOWN_DELAY_SECONDS, whatever the database does.
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

  /** One question at a time, however many ask: anybody may, as often as they like. */
  private async database(): Promise<'up' | 'down'> {
    this.databaseCheck ??= this.databaseAnswers().finally(() => (this.databaseCheck = undefined));
    return (await this.databaseCheck) ? 'up' : 'down';
  }

  private async databaseAnswers(): Promise<boolean> {
    try {
      await this.dataSource.query('SELECT 1');
      return true;
    } catch {
      return false;
    }
  }
}
