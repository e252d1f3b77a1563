import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Clock, MINUTE_MS } from '../config/clock.js';
import { IdempotencyRepository } from './idempotency.repository.js';

/** Rows per statement. A statement takes a small part of its time limit. */
const BATCH_SIZE = 1_000;

/** Deletes expired idempotency records in small batches, on every replica. */
@Injectable()
export class ExpiredRecords implements OnModuleDestroy {
  private deleting: Promise<void> | undefined;
  private isStopping = false;

  constructor(
    private readonly repository: IdempotencyRepository,
    private readonly clock: Clock,
  ) {}

  /** Deletes all expired records. If that is in progress already, only waits for its end. */
  @Interval(MINUTE_MS)
  delete(): Promise<void> {
    return (this.deleting ??= this.deleteAll().finally(() => (this.deleting = undefined)));
  }

  /** Waits for the batch in progress, because the connections close next. */
  async onModuleDestroy(): Promise<void> {
    this.isStopping = true;
    await this.deleting?.catch(() => undefined);
  }

  private async deleteAll(): Promise<void> {
    let deleted = BATCH_SIZE;
    while (deleted === BATCH_SIZE && !this.isStopping) {
      deleted = await this.repository.deleteExpired(this.clock.now(), BATCH_SIZE);
    }
  }
}
