import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { MINUTE_MS } from '../config/clock.js';
import { BackgroundJob } from '../database/background-job.js';
import { KeyLookupRepository } from './key-cache/key-lookup.repository.js';

const WRITE_INTERVAL_MS = 15_000;
/** API keys per statement. A statement takes a small part of its time limit. */
const BATCH_SIZE = 5_000;

/** Collects when API keys were last used, to the minute, and writes it in batches. */
@Injectable()
export class LastUsed implements OnModuleInit, OnApplicationShutdown {
  private readonly job = new BackgroundJob(LastUsed.name, WRITE_INTERVAL_MS, () => this.write());
  private noted = new Map<bigint, number>();

  constructor(private readonly repository: KeyLookupRepository) {}

  onModuleInit(): void {
    this.job.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.job.stop();
    await this.job.run();
  }

  /** @param nowMs milliseconds since the epoch */
  note(keyId: bigint, nowMs: number): void {
    this.noted.set(keyId, nowMs - (nowMs % MINUTE_MS));
  }

  /** Keeps what it cannot write for the next run. */
  private async write(): Promise<void> {
    const rest = [...this.noted];
    this.noted = new Map();
    try {
      while (rest.length > 0) {
        await this.repository.saveLastUsed(new Map(rest.slice(-BATCH_SIZE)));
        rest.length = Math.max(0, rest.length - BATCH_SIZE);
      }
    } catch (error) {
      for (const [id, at] of rest) if (!this.noted.has(id)) this.noted.set(id, at);
      throw error;
    }
  }
}
