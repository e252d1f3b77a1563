import type { ClientConfig } from 'pg';
import type { Settings } from '../config/settings.js';
import { columnTypes } from './column-types.js';
import type { ServiceClientConfig } from './service-client.js';

/** What is answered late anyway may be answered by the server's own time limit first. */
export const CLIENT_TIMEOUT_MARGIN_MS = 250;

/**
 * Returns pg's configuration of a connection of the service. Every wait in it is bounded.
 *
 * @param connection where the server is
 * @param pooled whether a pooler may stand between, which knows no start-up parameters
 */
export function clientConfig(
  connection: ClientConfig,
  settings: Settings,
  { pooled = false } = {},
): ServiceClientConfig {
  const statementMs = settings.databaseStatementTimeoutMs;
  const serverLimits = {
    statement_timeout: statementMs,
    lock_timeout: settings.databaseLockTimeoutMs,
    idle_in_transaction_session_timeout: 2 * statementMs,
  };
  return {
    ...connection,
    ...(pooled ? {} : serverLimits),
    types: columnTypes,
    application_name: 'pets',
    keepAlive: true,
    connectionTimeoutMillis: settings.databasePoolWaitMs,
    answerTimeoutMs: statementMs + CLIENT_TIMEOUT_MARGIN_MS,
  };
}
