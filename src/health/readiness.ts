import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';

/** Whether the service can take requests, and why not. */
export interface ReadinessReport {
  ready: boolean;
  checks: { database: 'up' | 'down'; shutdown: 'no' | 'in progress' };
}

/** Knows whether this replica should get requests. */
@Injectable()
export class Readiness {
  private shuttingDown = false;
  private databaseCheck: Promise<boolean> | undefined;

  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /** From now on the replica is not ready, so that load balancers turn away from it. */
  beginShutdown(): void {
    this.shuttingDown = true;
  }

  /** Asks the database; the pool's and the statement's time limits bound the wait. */
  async report(): Promise<ReadinessReport> {
    // One question at a time, however many ask: anybody may, as often as they like.
    this.databaseCheck ??= this.databaseAnswers().finally(() => (this.databaseCheck = undefined));
    const database = await this.databaseCheck;
    return {
      ready: database && !this.shuttingDown,
      checks: {
        database: database ? 'up' : 'down',
        shutdown: this.shuttingDown ? 'in progress' : 'no',
      },
    };
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
