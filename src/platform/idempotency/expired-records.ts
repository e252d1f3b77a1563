import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Clock, MINUTE_MS } from '../config/clock.js';
import { IdempotencyRepository } from './idempotency.repository.js';

/** Rows per statement. A statement takes a small part of its time limit. */
const BATCH_SIZE = 1_000;

/** Deletes expired idempotency records in small batches, on every replica. */
@Injectable()
export class ExpiredRecords implements OnModuleDestroy {
  private isStopping = false;

  constructor(
    private readonly repository: IdempotencyRepository,
    private readonly clock: Clock,
  ) {}

  /** Deletes all expired records. */
  @Interval(MINUTE_MS)
  async delete(): Promise<void> {
    let deleted = BATCH_SIZE;
    while (deleted === BATCH_SIZE && !this.isStopping) {
      deleted = await this.repository.deleteExpired(this.clock.now(), BATCH_SIZE);
    }
  }

  /** The batch in progress is the last one. The pool waits for it. */
  onModuleDestroy(): void {
    this.isStopping = true;
  }
}
