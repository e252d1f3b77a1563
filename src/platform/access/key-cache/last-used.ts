import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { MINUTE_MS } from '../../config/clock.js';
import { KeyLookupRepository } from './key-lookup.repository.js';

const WRITE_INTERVAL_MS = 15_000;
/** API keys per statement. A statement takes a small part of its time limit. */
const BATCH_SIZE = 5_000;

/** Collects when API keys were last used, to the minute, and writes it in batches. */
@Injectable()
export class LastUsed implements OnApplicationShutdown {
  private readonly logger = new Logger(LastUsed.name);
  /** Times of use by key id, in milliseconds since the epoch, until they are stored. */
  private readonly noted = new Map<bigint, number>();

  constructor(private readonly repository: KeyLookupRepository) {}

  /** @param nowMs milliseconds since the epoch */
  note(keyId: bigint, nowMs: number): void {
    this.noted.set(keyId, nowMs - (nowMs % MINUTE_MS));
  }

  @Interval(WRITE_INTERVAL_MS)
  async write(): Promise<void> {
    const uses = [...this.noted];
    for (let start = 0; start < uses.length; start += BATCH_SIZE) {
      const batch = uses.slice(start, start + BATCH_SIZE);
      await this.repository.saveLastUsed(new Map(batch));
      // A later use, noted in the meantime, stays for the next run.
      for (const [id, atMs] of batch) if (this.noted.get(id) === atMs) this.noted.delete(id);
    }
  }

  /** The last requests have ended, and the connections are still open. */
  async onApplicationShutdown(): Promise<void> {
    await this.write().catch((err: unknown) => {
      this.logger.warn({ msg: 'the last use of API keys was not stored', err });
    });
  }
}
