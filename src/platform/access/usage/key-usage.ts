import { randomUUID } from 'node:crypto';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Clock, DAY_MS, MINUTE_MS } from '../../config/clock.js';
import type { KeyState } from '../caller.js';
import { KeyUsageRepository, type UsageCount } from './key-usage.repository.js';

/** `kill -9` loses the counts since the last run. */
const SAVE_INTERVAL_MS = 10_000;
/** Counts that one statement stores or deletes. It takes a small part of its time limit. */
const BATCH_SIZE = 5_000;
const KEPT_DAYS = 400;

/**
 * Counts the requests of each API key per UTC day, in about 200 bytes per key and day. It stores totals
 * in rows of this process, not differences. So it can repeat a statement whose result was lost.
 */
@Injectable()
export class KeyUsage implements OnApplicationShutdown {
  private readonly logger = new Logger(KeyUsage.name);
  /** The counts of today. */
  private current = { day: 0, counter: '', counts: new Map<bigint, UsageCount>() };
  /** Counts that have changed since they were stored. */
  private readonly changed = new Set<UsageCount>();
  private lastRun = Promise.resolve();

  constructor(
    private readonly repository: KeyUsageRepository,
    private readonly clock: Clock,
  ) {}

  /** Counts a request of an API key, or its rejection by a limit. */
  count({ keyId }: KeyState, isRejected: boolean): void {
    const day = this.today();
    // An operator can set the clock back. The counter of the earlier part of that day is no longer here.
    if (day !== this.current.day) this.current = { day, counter: randomUUID(), counts: new Map() };
    const { counter, counts } = this.current;
    let count = counts.get(keyId);
    if (!count) counts.set(keyId, (count = { day, keyId, counter, requests: 0, rejections: 0 }));
    if (isRejected) count.rejections++;
    else count.requests++;
    this.changed.add(count);
  }

  /** Stores the counts when the previous run has ended. After a failure, the next run repeats it. */
  @Interval(SAVE_INTERVAL_MS)
  save(): Promise<void> {
    return (this.lastRun = this.lastRun.then(() => this.saveChanged()));
  }

  /** The last requests have ended, and the connections are still open. */
  async onApplicationShutdown(): Promise<void> {
    await this.save();
  }

  /** On every replica. */
  @Interval(MINUTE_MS)
  async deleteOld(): Promise<void> {
    await this.repository
      .deleteBefore(this.today() - KEPT_DAYS, BATCH_SIZE)
      .catch((error: unknown) => this.logger.warn(`Could not delete old usage: ${String(error)}`));
  }

  private async saveChanged(): Promise<void> {
    const counts = [...this.changed];
    for (let start = 0; start < counts.length; start += BATCH_SIZE) {
      const batch = counts.slice(start, start + BATCH_SIZE);
      for (const count of batch) this.changed.delete(count);
      try {
        await this.repository.save(batch);
      } catch (error) {
        for (const count of batch) this.changed.add(count);
        this.logger.warn(`The usage of API keys was not stored: ${String(error)}`);
        return;
      }
    }
  }

  private today(): number {
    return Math.floor(this.clock.now() / DAY_MS);
  }
}
