import pg from 'pg';
import type { DataSourceOptions } from 'typeorm';
import type { ConnectionSettings, DatabaseSettings } from '../config/database-settings.js';
import { HiddenColumns } from './hidden-columns.js';
import { PgClient, type PgClientConfig } from './pipelining/pg-client.js';
import { columnTypes } from './pipelining/statement-batch.js';
import { BoundedPool, type BoundedPoolConfig } from './pools/bounded-pool.js';

/**
 * Networks forget a connection that is idle: load balancers and address translators in the cloud after four
 * minutes and more. So the pool closes it before, and the system sends keepalives on one that waits.
 */
const MAX_IDLE_MS = 50_000;
const KEEPALIVE_AFTER_MS = 30_000;

/** The client waits this much longer than the server's limit, so that its error arrives first. */
const CLIENT_TIMEOUT_MARGIN_MS = 250;

/**
 * Returns the configuration of a pool of PgClients. Every wait is bounded.
 *
 * @param connection where the server is
 * @param purpose follows the name of the database in pg_stat_activity
 */
export function connectionConfig(
  connection: ConnectionSettings,
  settings: DatabaseSettings,
  purpose = '',
): BoundedPoolConfig & PgClientConfig {
  const { statementTimeoutMs, poolWaitMs } = settings;
  const { connectTimeoutMs = poolWaitMs } = connection;
  const serverSettings = {
    statement_timeout: statementTimeoutMs,
    lock_timeout: settings.lockTimeoutMs,
    idle_in_transaction_session_timeout: 2 * statementTimeoutMs,
  };
  return {
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_AFTER_MS,
    ...connection,
    types: columnTypes,
    application_name: `${connection.application_name ?? settings.name} ${purpose}`.trim(),
    connectionTimeoutMillis: Math.min(poolWaitMs, connectTimeoutMs),
    responseTimeoutMs: statementTimeoutMs + CLIENT_TIMEOUT_MARGIN_MS,
    max: settings.poolSize,
    idleTimeoutMillis: MAX_IDLE_MS,
    maxWaiting: settings.queueSize,
    Client: PgClient,
    // The pool waits for it.
    onConnect: (client): unknown => (client as PgClient).startSession(serverSettings),
  };
}

/** Returns TypeORM's options for a connection pool of the service. Every wait in it is bounded. */
export function dataSourceOptions(
  connection: ConnectionSettings,
  settings: DatabaseSettings,
  purpose?: string,
): DataSourceOptions {
  return {
    type: 'postgres',
    // TypeORM uses only its `Pool`.
    driver: { ...pg, Pool: BoundedPool },
    // Generated UUIDs are gen_random_uuid(), which PostgreSQL has without the extension.
    uuidExtension: 'pgcrypto',
    installExtensions: false,
    subscribers: [HiddenColumns],
    // The others print to standard output, which belongs to the results of commands and to the log.
    logger: 'debug',
    extra: connectionConfig(connection, settings, purpose),
  };
}
