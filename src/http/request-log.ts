import type { Logger } from 'pino';
import type { Request } from './request.js';
import { routeOf, type ResponseObserver } from './response-observer.js';

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
    logger.info(
      {
        requestId: request.id,
        traceId: request.traceId,
        method: request.method,
        path: readablePath(request.originalUrl),
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

/** The path as it reads: in escapes, the logger would not know a key. Without the query: it may hold secrets. */
function readablePath(url: string): string | undefined {
  const query = url.indexOf('?');
  const path = query < 0 ? url : url.slice(0, query);
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}
