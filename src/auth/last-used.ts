import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { KeyLookupRepository } from './key-cache/key-lookup.repository.js';

const MINUTE_MS = 60_000;
const WRITE_EVERY_MS = 15_000;
/** Keys written by one statement: some 50 ms, far from the statement's time limit. */
const BATCH_SIZE = 5_000;

/** When keys were last used, to the minute; collected here and written in batches. */
@Injectable()
export class LastUsed implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(LastUsed.name);
  private noted = new Map<bigint, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly repository: KeyLookupRepository) {}

  onModuleInit(): void {
    this.timer = setInterval(() => void this.write(), WRITE_EVERY_MS);
    this.timer.unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.write();
  }

  /** @param nowMs milliseconds since the epoch */
  note(keyId: bigint, nowMs: number): void {
    this.noted.set(keyId, nowMs - (nowMs % MINUTE_MS));
  }

  /** Writes what was noted; what cannot be written now is kept for the next time. */
  private async write(): Promise<void> {
    const rest = [...this.noted];
    this.noted = new Map();
    try {
      while (rest.length > 0) {
        await this.repository.saveLastUsed(new Map(rest.slice(-BATCH_SIZE)));
        rest.length = Math.max(0, rest.length - BATCH_SIZE);
      }
    } catch (error) {
      this.logger.warn({ msg: 'last use of keys not written', err: error });
      for (const [id, at] of rest) if (!this.noted.has(id)) this.noted.set(id, at);
    }
  }
}
