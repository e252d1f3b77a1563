import { Injectable, type OnModuleInit } from '@nestjs/common';
import { EntityManager } from 'typeorm';
import { Settings } from '../../config/settings.js';
import { ApiKey, KeySecret } from '../api-key.entity.js';
import { KeyMaker } from '../key-format.js';

/** Recognizes the API keys that the store has issued, without a query. */
@Injectable()
export class IssuedKeys implements OnModuleInit {
  private maker!: KeyMaker;
  /** The hashes of API keys without a proof, about 120 bytes each. Earlier releases issued them. */
  private withoutProof!: ReadonlySet<string>;

  constructor(
    private readonly database: EntityManager,
    private readonly settings: Settings,
  ) {}

  /** @throws the error of a query. Then the service cannot start. */
  async onModuleInit(): Promise<void> {
    const [row] = await this.database.find(KeySecret);
    if (!row) throw new Error('The table key_secret is empty. Restore it from a backup.');
    this.maker = new KeyMaker(row.secret, this.settings.product.keyPrefix);
    // A key that an earlier release issues later, during a rollout, is valid after a restart.
    const keys = await this.database
      .createQueryBuilder(ApiKey, 'key')
      .select("encode(key.hash, 'hex')", 'hash')
      .where({ hasProof: false })
      .getRawMany<{ hash: string }>();
    this.withoutProof = new Set(keys.map(({ hash }) => hash));
  }

  hasForm(text: string): boolean {
    return this.maker.hasForm(text);
  }

  /** @param key a text with the form of an API key. @param hash its SHA-256 in hex */
  has(key: string, hash: string): boolean {
    return this.withoutProof.has(hash) || this.maker.verify(key);
  }
}
