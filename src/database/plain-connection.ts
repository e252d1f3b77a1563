import type { ClientConfig } from 'pg';
import type { DatabaseSettings } from '../config/database-settings.js';
import { APPLICATION_NAMES, connectionConfig } from './pools/client-config.js';
import { ServiceClient } from './pipelining/service-client.js';
import type { StatementRunner } from './sql.js';

const CLOSE_LIMIT_MS = 2_000;

/** The connection of a command. Most commands end sooner than TypeORM would be loaded. */
export class PlainConnection implements StatementRunner {
  private constructor(private readonly client: ServiceClient) {}

  /**
   * @param connection to the server, not through a connection pooler
   * @throws ConnectionFailedError
   */
  static async open(
    connection: ClientConfig,
    settings: DatabaseSettings,
    statementTimeoutMs: number,
  ): Promise<PlainConnection> {
    const client = new ServiceClient(
      connectionConfig(connection, settings, {
        applicationName: APPLICATION_NAMES.commands,
        statementTimeoutMs,
      }),
    );
    // The statement in progress or the next one fails with this error.
    client.on('error', () => undefined);
    await client.connect();
    return new PlainConnection(client);
  }

  async query<Result>(sql: string, values?: unknown[]): Promise<Result> {
    const { command, rows, rowCount } = await this.client.query(sql, values);
    const isCounted = command === 'UPDATE' || command === 'DELETE';
    return (isCounted ? [rows, rowCount] : rows) as Result;
  }

  async transaction<Result>(work: (runner: StatementRunner) => Promise<Result>): Promise<Result> {
    await this.client.query('BEGIN');
    try {
      const result = await work(this);
      await this.client.query('COMMIT');
      return result;
    } catch (error) {
      // Without a connection there is nothing to roll back, and the first error says more.
      await this.client.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }

  /** Resolves within two seconds, even if the server does not respond. */
  async close(): Promise<void> {
    const deadline = setTimeout(() => this.client.abandon(), CLOSE_LIMIT_MS);
    try {
      await this.client.end();
    } finally {
      clearTimeout(deadline);
    }
  }
}
