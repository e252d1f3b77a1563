import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { Clock } from '../config/clock.js';
import { IdempotencyRepository } from './idempotency.repository.js';

const PURGE_EVERY_MS = 60_000;
/** Rows deleted by one statement: some 10 ms, far from the statement's time limit. */
const BATCH_SIZE = 1_000;
/** So that a backlog does not keep one connection for minutes; the next run goes on. */
const MAX_BATCHES = 500;

/** Deletes expired first answers in the background, on every replica, a little at a time. */
@Injectable()
export class ExpiredRecords implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(ExpiredRecords.name);
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private stopped = false;

  constructor(
    private readonly repository: IdempotencyRepository,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.purgeLater();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.running;
  }

  /** At random within half a minute of the minute, so that replicas do not come all at once. */
  private purgeLater(): void {
    this.timer = setTimeout(
      () => {
        this.running = this.purge().finally(() => {
          if (!this.stopped) this.purgeLater();
        });
      },
      PURGE_EVERY_MS * (0.5 + Math.random()),
    );
    this.timer.unref();
  }

  private async purge(): Promise<void> {
    try {
      for (let batch = 0; batch < MAX_BATCHES && !this.stopped; batch++) {
        const deleted = await this.repository.deleteExpired(this.clock.now(), BATCH_SIZE);
        if (deleted < BATCH_SIZE) return;
      }
    } catch (error) {
      this.logger.warn({ msg: 'expired idempotency keys not deleted', err: error });
    }
  }
}
