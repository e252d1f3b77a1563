import type { Logger } from 'pino';
import type { Request } from './request.js';
import { routeOf, type ResponseObserver } from './response-observer.js';

/** Whatever looks like an API key: callers put keys where they do not belong, and logs are read by many. */
const API_KEY = /aas_[0-9A-Za-z]{36}/g;

/** Returns text in which API keys are not readable. */
export function withoutKeys(text: string): string {
  return text.includes('aas_') ? text.replace(API_KEY, 'aas_***') : text;
}

/**
 * Returns the observer that writes one line per request.
 *
 * @param keyIdOf tells the id of the key that the request was made with, if any
 */
export function requestLog(
  logger: Logger,
  keyIdOf: (request: Request) => string | undefined,
): ResponseObserver {
  return (request, response, durationMs) => {
    const url = request.originalUrl;
    const query = url.indexOf('?');
    logger.info(
      {
        requestId: withoutKeys(request.id),
        traceId: request.traceId,
        method: request.method,
        // Without the query: what a caller writes there may be secret.
        path: withoutKeys(query < 0 ? url : url.slice(0, query)),
        route: routeOf(request),
        status: response.statusCode,
        durationMs: Math.round(durationMs * 1000) / 1000,
        keyId: keyIdOf(request),
        aborted: response.writableFinished ? undefined : true,
      },
      'request',
    );
  };
}
