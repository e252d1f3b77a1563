import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Settings } from '../../config/settings.js';
import { DatabaseLocation } from '../database-location.js';
import { BoundedPool } from './bounded-pool.js';
import { type CheckResult, ComponentCheck, type ComponentState } from './component-check.js';
import { connectionConfig } from '../data-source-options.js';

/** On a standby, every transaction is read-only. */
const IS_READ_ONLY = `SELECT current_setting('transaction_read_only')::boolean AS "readOnly"`;

const IS_STANDBY = 'the server accepts no writes, because it is a standby or read-only';

/**
 * The database as a component: down when it does not respond within READINESS_TIMEOUT_SECONDS. It has a
 * connection of its own, because those that serve requests can all be busy.
 */
@Injectable()
export class DatabaseProbe extends ComponentCheck implements OnApplicationShutdown {
  private readonly pool: BoundedPool;
  /** Where the requests write. */
  private requests: BoundedPool | undefined;

  constructor({ connection }: DatabaseLocation, { database }: Settings) {
    const settings = { ...database, poolSize: 1 };
    const pool = new BoundedPool(connectionConfig(connection, settings, 'probes'));
    // The idle connection broke. The next check opens another one.
    pool.on('error', () => undefined);
    super(() => stateOf(pool), database.readinessTimeoutMs);
    this.pool = pool;
  }

  /** Lets the writes of a pool decide too: the server may respond and have no space for rows. */
  watch(requests: BoundedPool): void {
    this.requests = requests;
    requests.onReadOnly = () => this.pool.replaceConnections();
  }

  override async run(): Promise<CheckResult> {
    const result = await super.run();
    if (result.state === 'read-only')
      for (const pool of [this.pool, this.requests]) pool?.replaceConnections();
    const cause = this.requests?.writeFailure;
    if (result.state === 'read-only') return { ...result, cause: cause ?? IS_STANDBY };
    return cause && result.state === 'up' ? { state: 'read-only', cause } : result;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pool.end();
  }
}

async function stateOf(pool: BoundedPool): Promise<ComponentState> {
  const { rows } = await pool.query<{ readOnly: boolean }>(IS_READ_ONLY);
  return rows[0]?.readOnly ? 'read-only' : 'up';
}
