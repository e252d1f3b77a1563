import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { BackgroundJob } from '../../database/background-job.js';
import { KeyMaker } from '../key-format.js';
import { KeyLookupRepository } from './key-lookup.repository.js';

const RETRY_INTERVAL_MS = 2_000;

/** Recognizes the API keys that the store has issued, without a query. */
@Injectable()
export class IssuedKeys implements OnModuleInit, OnApplicationShutdown {
  private maker!: KeyMaker;
  /** The hashes of API keys without a proof, about 120 bytes each. Earlier releases issued them. */
  private readonly withoutProof = new Set<string>();
  /** Hashes could not be read after a change. */
  private isIncomplete = false;
  private readonly job = new BackgroundJob(IssuedKeys.name, RETRY_INTERVAL_MS, async () => {
    if (this.isIncomplete) await this.refresh();
  });

  constructor(private readonly repository: KeyLookupRepository) {}

  /** @throws the error of a query. Then the service cannot start. */
  async onModuleInit(): Promise<void> {
    this.maker = new KeyMaker(await this.repository.getKeySecret());
    await this.readHashes();
    this.job.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.job.stop();
  }

  /** Reads hashes that may be new, until the database returns them. @param ownerId undefined: all */
  async refresh(ownerId?: bigint): Promise<void> {
    if (ownerId === undefined) this.isIncomplete = false;
    try {
      await this.readHashes(ownerId);
    } catch {
      this.isIncomplete = true;
    }
  }

  /** @param key a text with the form of an API key. @param hash its SHA-256 in hex */
  has(key: string, hash: string): boolean {
    return this.withoutProof.has(hash) || this.maker.verify(key);
  }

  private async readHashes(ownerId?: bigint): Promise<void> {
    for await (const hashes of this.repository.listHashesWithoutProof(ownerId))
      for (const hash of hashes) this.withoutProof.add(hash);
  }
}
