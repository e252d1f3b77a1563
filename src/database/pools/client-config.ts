import type { ClientConfig } from 'pg';
import type { DatabaseSettings } from '../../config/database-settings.js';
import { type ApplicationName, APPLICATION_NAMES } from '../application-names.js';
import {
  ServiceClient,
  type ServiceClientConfig,
  UnpreparedServiceClient,
} from '../pipelining/service-client.js';
import { columnTypes } from '../pipelining/statement-batch.js';
import type { BoundedPoolConfig } from './bounded-pool.js';

/**
 * The client waits this much longer than the server's time limit, so that the server's error
 * arrives first.
 */
export const CLIENT_TIMEOUT_MARGIN_MS = 250;

/** What a connection is used for. */
export interface ConnectionUse {
  /**
   * Whether the connection serves requests, maybe through a connection pooler. All other
   * connections go straight to the server.
   */
  forRequests?: boolean;
  applicationName?: ApplicationName;
  connectionTimeoutMs?: number;
  statementTimeoutMs?: number;
}

export type PoolUse = ConnectionUse & { poolSize?: number };

/**
 * Returns pg's configuration of a connection. Every wait in it is bounded.
 *
 * @param connection where the server is
 */
export function clientConfig(
  connection: ClientConfig,
  settings: DatabaseSettings,
  {
    forRequests = false,
    applicationName = APPLICATION_NAMES.requests,
    connectionTimeoutMs = settings.poolWaitMs,
    statementTimeoutMs = settings.statementTimeoutMs,
  }: ConnectionUse,
): ServiceClientConfig {
  const serverLimits = {
    statement_timeout: statementTimeoutMs,
    lock_timeout: settings.lockTimeoutMs,
    idle_in_transaction_session_timeout: 2 * statementTimeoutMs,
  };
  // A connection pooler rejects start-up parameters that it does not know.
  const mayBePooler = forRequests && settings.usesConnectionPooler;
  return {
    ...connection,
    ...(!mayBePooler && serverLimits),
    types: columnTypes,
    application_name: applicationName,
    keepAlive: true,
    connectionTimeoutMillis: connectionTimeoutMs,
    responseTimeoutMs: statementTimeoutMs + CLIENT_TIMEOUT_MARGIN_MS,
  };
}

/**
 * Returns the configuration of a pool of such connections.
 *
 * @param poolSize the maximum number of connections
 */
export function poolConfig(
  connection: ClientConfig,
  settings: DatabaseSettings,
  { poolSize = settings.poolSize, ...use }: PoolUse,
): BoundedPoolConfig {
  const mayBePooler = use.forRequests === true && settings.usesConnectionPooler;
  return {
    ...clientConfig(connection, settings, use),
    max: poolSize,
    maxWaiting: settings.queueSize,
    Client: mayBePooler ? UnpreparedServiceClient : ServiceClient,
  };
}
