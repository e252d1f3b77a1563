import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import pg from 'pg';
import { connectionOf } from '../../database/pipelining/pg-client.js';
import { APPLICATION_NAMES } from '../../database/pools/client-config.js';
import { DatabaseLocation } from '../../database/database-location.js';
import { FailureLog } from '../../logging/failure-log.js';
import { KEY_CHANGES_CHANNEL } from '../administration/operator-actions.repository.js';
import { IssuedKeys } from './issued-keys.js';
import { KeyCache } from './key-cache.js';

const RECONNECT_AFTER_MS = 1_000;
const CONNECT_TIMEOUT_MS = 2_000;
/** A connection to a machine that vanished breaks ten seconds later, after ten probes. */
const KEEP_ALIVE_AFTER_MS = 5_000;

/**
 * Listens for changes of API keys (LISTEN/NOTIFY), so that a change takes effect at once. While a
 * lost connection is replaced, the cache's age limit makes changes take effect.
 */
@Injectable()
export class KeyChanges implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly failures = new FailureLog(new Logger(KeyChanges.name));
  private client: pg.Client | undefined;
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(
    private readonly cache: KeyCache,
    private readonly issuedKeys: IssuedKeys,
    private readonly location: DatabaseLocation,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.listen();
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.client?.end().catch(() => undefined);
  }

  private async listen(): Promise<void> {
    const client = new pg.Client({
      ...this.location.direct,
      application_name: APPLICATION_NAMES.keyChanges,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    });
    this.client = client;
    // The event 'end' follows every error.
    client.on('error', () => undefined);
    client.once('end', () => {
      if (!this.stopped) this.timer = setTimeout(() => void this.listen(), RECONNECT_AFTER_MS);
    });
    client.on('notification', ({ payload = '' }) => {
      // Anything may have changed if the payload is not the id of an owner.
      const ownerId = /^\d{1,19}$/.test(payload) ? BigInt(payload) : undefined;
      this.cache.invalidate(ownerId);
      // Until the rollout of this release has ended, keys without a proof may be issued.
      this.issuedKeys.readHashes(ownerId).catch(() => undefined);
    });
    try {
      await client.connect();
      await client.query(`LISTEN ${KEY_CHANGES_CHANNEL}`);
      // Changes may have been missed while there was no connection.
      this.cache.invalidate();
      await this.issuedKeys.readHashes();
      this.failures.succeeded('listening for changes of API keys again');
    } catch (error) {
      this.failures.failed('not listening for changes of API keys', error);
      connectionOf(client).stream.destroy();
    }
  }
}
