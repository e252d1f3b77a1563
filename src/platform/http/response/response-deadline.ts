import type { DatabaseSettings } from '../../config/database-settings.js';
import { serviceUnavailable } from '../../errors/service-error.js';
import type { Response } from '../request/request.js';
import { sendError } from './send-json.js';

/** Time for all work of the service except its waits for the database. */
const MARGIN_MS = 500;

/**
 * Limits how long a response waits for the database. Each wait has its own limit, but several can
 * add up. At the deadline the service sends 503, and discards the result of the handler. Call it
 * when the rate limit headers are set.
 *
 * @param bodyMs how long the service waited for the body, which does not count
 */
export function startResponseDeadline(
  response: Response,
  { poolWaitMs, statementTimeoutMs }: DatabaseSettings,
  bodyMs: number,
): void {
  // The client has disconnected, so `close` does not come any more.
  if (response.destroyed) return;
  const elapsedMs = performance.now() - response.req.receivedAt - bodyMs;
  const timer = setTimeout(
    () => {
      if (!response.headersSent) sendError(response, serviceUnavailable('response deadline'));
    },
    poolWaitMs + statementTimeoutMs + MARGIN_MS - elapsedMs,
  );
  response.once('close', () => clearTimeout(timer));
}
