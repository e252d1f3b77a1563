import { Injectable } from '@nestjs/common';
import { Clock, MINUTE_MS } from '../config/clock.js';
import { BackgroundJobs } from '../jobs/background-jobs.js';
import { IdempotencyRepository } from './idempotency.repository.js';

/** Rows per statement. A statement takes a small part of its time limit. */
const BATCH_SIZE = 1_000;
/** Bounds the time for which a backlog occupies a connection. The next run continues. */
const MAX_BATCHES = 500;

/** Deletes expired idempotency records in the background, in small batches, on every replica. */
@Injectable()
export class ExpiredRecords {
  constructor(
    jobs: BackgroundJobs,
    private readonly repository: IdempotencyRepository,
    private readonly clock: Clock,
  ) {
    jobs.every(ExpiredRecords.name, MINUTE_MS, (stopSignal) => this.deleteAll(stopSignal));
  }

  private async deleteAll(stopSignal: AbortSignal): Promise<void> {
    for (let batch = 0; batch < MAX_BATCHES && !stopSignal.aborted; batch++) {
      const deleted = await this.repository.deleteExpired(this.clock.now(), BATCH_SIZE);
      if (deleted < BATCH_SIZE) return;
    }
  }
}
