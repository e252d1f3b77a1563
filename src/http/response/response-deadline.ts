import type { DatabaseSettings } from '../../config/database-settings.js';
import { serviceUnavailable } from '../../errors/service-error.js';
import type { NextFunction, Request, Response } from '../request/request.js';
import { sendError } from './send-json.js';

/** Time for all work of the service except its waits for the database. */
const MARGIN_MS = 500;

/**
 * Returns the middleware that limits how long a response waits for the database. Each wait has its
 * own limit, but several can add up. At the deadline the service sends 503, and discards the result
 * of the handler.
 *
 * The last guard starts the deadline, because by then the rate limit headers are set.
 */
export function responseDeadline({ poolWaitMs, statementTimeoutMs }: DatabaseSettings) {
  const limitMs = poolWaitMs + statementTimeoutMs + MARGIN_MS;
  return (request: Request, response: Response, next: NextFunction): void => {
    request.startResponseDeadline = (bodyMs) => {
      const elapsedMs = performance.now() - request.receivedAt - bodyMs;
      const timer = setTimeout(() => {
        if (!response.headersSent) sendError(response, serviceUnavailable('response deadline'));
      }, limitMs - elapsedMs);
      response.once('close', () => {
        // After a disconnect the handler still runs and holds its slot, so the deadline stays.
        if (response.headersSent) clearTimeout(timer);
      });
    };
    next();
  };
}
