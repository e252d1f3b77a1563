import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Settings } from '../../config/settings.js';
import { DatabaseLocation } from '../database-location.js';
import { BoundedPool } from './bounded-pool.js';
import { connectionConfig } from '../data-source-options.js';

/** `read-only`: it responds but accepts no writes, for example because it is a standby. */
export type DatabaseState = 'up' | 'read-only' | 'down';

/** On a standby, every transaction is read-only. */
const IS_READ_ONLY = `SELECT current_setting('transaction_read_only')::boolean AS "readOnly"`;

/** Checks the database on a connection of its own: those that serve requests can all be busy. */
@Injectable()
export class DatabaseProbe implements OnApplicationShutdown {
  private readonly pool: BoundedPool;
  private readonly timeoutMs: number;
  private check: Promise<DatabaseState> | undefined;

  constructor({ connection }: DatabaseLocation, { database }: Settings) {
    const settings = { ...database, poolSize: 1 };
    this.pool = new BoundedPool(connectionConfig(connection, settings, 'probes'));
    // The idle connection broke. The next check opens another one.
    this.pool.on('error', () => undefined);
    this.timeoutMs = database.readinessTimeoutMs;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pool.end();
  }

  /**
   * Returns the state of the database: down when it does not respond within
   * READINESS_TIMEOUT_SECONDS. Concurrent calls share one query, because anyone can send any number
   * of health probes.
   */
  state(): Promise<DatabaseState> {
    this.check ??= Promise.race([
      this.pool.query<{ readOnly: boolean }>(IS_READ_ONLY).then(
        ({ rows: [row] }) => (row?.readOnly ? 'read-only' : 'up'),
        () => 'down' as const,
      ),
      // If the process was busy, it reads a response that has arrived before it runs the immediate.
      delay(this.timeoutMs, undefined, { ref: false }).then(() => setImmediate('down' as const)),
    ]).finally(() => (this.check = undefined));
    return this.check;
  }
}
