import type { ClientConfig } from 'pg';
import type { DataSourceOptions } from 'typeorm';
import type { Settings } from '../config/settings.js';
import { migrations } from './migrations/index.js';
import { columnTypes, PooledServiceClient, ServiceClient } from './service-client.js';

/** What is answered late anyway may be answered by the server's own time limit first. */
const CLIENT_TIMEOUT_MARGIN_MS = 250;

/**
 * Returns TypeORM's options for a connection pool of the service. Every wait in it is bounded.
 *
 * @param connection where the server is
 * @param pooled whether a pooler may stand between, which knows no start-up parameters and may not
 *   know prepared statements
 */
export function dataSourceOptions(
  connection: ClientConfig,
  settings: Settings,
  { pooled = false, poolSize = settings.databasePoolSize } = {},
): DataSourceOptions {
  const statementMs = settings.databaseStatementTimeoutMs;
  const serverLimits = {
    statement_timeout: statementMs,
    lock_timeout: settings.databaseLockTimeoutMs,
    idle_in_transaction_session_timeout: 2 * statementMs,
  };
  return {
    type: 'postgres',
    migrations,
    poolSize,
    extra: {
      ...connection,
      ...(pooled ? {} : serverLimits),
      Client: pooled ? PooledServiceClient : ServiceClient,
      types: columnTypes,
      application_name: 'pets',
      keepAlive: true,
      connectionTimeoutMillis: settings.databasePoolWaitMs,
      query_timeout: statementMs + CLIENT_TIMEOUT_MARGIN_MS,
    },
  };
}
