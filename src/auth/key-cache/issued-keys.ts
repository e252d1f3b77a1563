import { Injectable, type OnModuleInit } from '@nestjs/common';
import { KeyMaker } from '../key-format.js';
import { KeyLookupRepository } from './key-lookup.repository.js';

/** Recognizes the API keys that the store has issued, without a query. */
@Injectable()
export class IssuedKeys implements OnModuleInit {
  private maker!: KeyMaker;
  /** The hashes of API keys without a proof, about 120 bytes each. Earlier releases issued them. */
  private readonly withoutProof = new Set<string>();

  constructor(private readonly repository: KeyLookupRepository) {}

  /** @throws the error of a query. Then the service cannot start. */
  async onModuleInit(): Promise<void> {
    this.maker = new KeyMaker(await this.repository.getKeySecret());
    await this.readHashes();
  }

  /** Reads the hashes of API keys without a proof. @param ownerId undefined: of all owners */
  async readHashes(ownerId?: bigint): Promise<void> {
    for await (const hashes of this.repository.listHashesWithoutProof(ownerId))
      for (const hash of hashes) this.withoutProof.add(hash);
  }

  /** @param key a text with the form of an API key. @param hash its SHA-256 in hex */
  has(key: string, hash: string): boolean {
    return this.withoutProof.has(hash) || this.maker.verify(key);
  }
}
