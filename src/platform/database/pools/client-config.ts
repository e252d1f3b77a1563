import type { ClientConfig } from 'pg';
import type { DatabaseSettings } from '../../config/database-settings.js';
import { PgClient, type PgClientConfig } from '../pipelining/pg-client.js';
import { columnTypes } from '../pipelining/statement-batch.js';
import type { BoundedPoolConfig } from './bounded-pool.js';

/** The client waits this much longer than the server's limit, so that its error arrives first. */
export const CLIENT_TIMEOUT_MARGIN_MS = 250;

/** The `application_name` of each kind of connection, as pg_stat_activity shows it. */
export const APPLICATION_NAMES = {
  requests: 'pets',
  lookups: 'pets lookups',
  commands: 'pets cli',
  migrations: 'pets migrations',
} as const;

/** What connections are used for. */
export interface ConnectionUse {
  /** Whether they may lead through a connection pooler. */
  forRequests?: boolean;
  applicationName?: string;
  /** The maximum number of connections. */
  poolSize?: number;
  connectionTimeoutMs?: number;
  statementTimeoutMs?: number;
}

/**
 * Returns the configuration of a pool or a PgClient. Every wait is bounded.
 *
 * @param connection where the server is
 */
export function connectionConfig(
  connection: ClientConfig,
  settings: DatabaseSettings,
  {
    forRequests = false,
    applicationName = APPLICATION_NAMES.requests,
    poolSize = settings.poolSize,
    connectionTimeoutMs = settings.poolWaitMs,
    statementTimeoutMs = settings.statementTimeoutMs,
  }: ConnectionUse,
): BoundedPoolConfig & PgClientConfig {
  const mayBePooler = forRequests && settings.usesConnectionPooler;
  const serverLimits = {
    statement_timeout: statementTimeoutMs,
    lock_timeout: settings.lockTimeoutMs,
    idle_in_transaction_session_timeout: 2 * statementTimeoutMs,
  };
  return {
    ...connection,
    // A connection pooler rejects start-up parameters that it does not know.
    ...(!mayBePooler && serverLimits),
    types: columnTypes,
    application_name: applicationName,
    keepAlive: true,
    connectionTimeoutMillis: connectionTimeoutMs,
    responseTimeoutMs: statementTimeoutMs + CLIENT_TIMEOUT_MARGIN_MS,
    max: poolSize,
    maxWaiting: settings.queueSize,
    Client: PgClient,
    preparesStatements: !mayBePooler,
  };
}
