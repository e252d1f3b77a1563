import type { ClientConfig } from 'pg';
import type { DatabaseSettings } from '../../config/database-settings.js';
import { type ApplicationName, APPLICATION_NAMES } from '../application-names.js';
import { columnTypes } from '../pipelining/column-types.js';
import type { ServiceClientConfig } from '../pipelining/service-client.js';

/** What is answered late anyway may be answered by the server's own time limit first. */
export const CLIENT_TIMEOUT_MARGIN_MS = 250;

/**
 * A prepared statement is planned once, for any values: with its LIMIT a parameter, PostgreSQL would plan a page anew
 * each time, which is half of its work. So the plan must hold however the table grows: by an index (docs/decisions/0003).
 */
const LASTING_PLANS = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off';

/** What a connection is for. */
export interface ConnectionUse {
  /** Whether a pooler may stand between, which knows no start-up parameters and may not know prepared statements. */
  pooled?: boolean;
  /** Whether it answers requests: few statements, over and over. */
  forRequests?: boolean;
  /** By default that of connections that serve requests. */
  applicationName?: ApplicationName;
  /** By default DATABASE_POOL_WAIT_SECONDS. */
  connectionTimeoutMs?: number;
  /** By default DATABASE_STATEMENT_TIMEOUT_SECONDS. */
  statementTimeoutMs?: number;
}

/**
 * Returns pg's configuration of a connection of the service. Every wait in it is bounded.
 *
 * @param connection where the server is; `options` in its address come instead of those for requests
 */
export function clientConfig(
  connection: ClientConfig,
  settings: DatabaseSettings,
  {
    pooled = false,
    forRequests = false,
    applicationName = APPLICATION_NAMES.requests,
    connectionTimeoutMs = settings.poolWaitMs,
    statementTimeoutMs = settings.statementTimeoutMs,
  }: ConnectionUse = {},
): ServiceClientConfig {
  const serverLimits = {
    statement_timeout: statementTimeoutMs,
    lock_timeout: settings.lockTimeoutMs,
    idle_in_transaction_session_timeout: 2 * statementTimeoutMs,
  };
  return {
    ...connection,
    ...(pooled ? {} : serverLimits),
    ...(forRequests && !pooled && { options: LASTING_PLANS }),
    types: columnTypes,
    application_name: applicationName,
    keepAlive: true,
    connectionTimeoutMillis: connectionTimeoutMs,
    responseTimeoutMs: statementTimeoutMs + CLIENT_TIMEOUT_MARGIN_MS,
  };
}
