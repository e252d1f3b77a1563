import type { Logger } from 'pino';
import type { ClientAddressForm } from '../../config/logging-settings.js';
import type { ServiceError } from '../../errors/service-error.js';
import { loggedAddress } from '../../logging/client-address.js';
import { describeCause } from '../../logging/error-details.js';
import type { NextFunction, Request, Response } from './request.js';

/** Told once about every request, when its answer is out or its connection is gone. */
export type ResponseObserver = (request: Request, response: Response, durationMs: number) => void;

/** Returns the step that tells the observers (log, metrics) about each request. */
export function observeResponses(observers: readonly ResponseObserver[]) {
  return (request: Request, response: Response, next: NextFunction): void => {
    response.once('close', () => {
      const durationMs = performance.now() - request.receivedAt;
      for (const observe of observers) observe(request, response, durationMs);
    });
    next();
  };
}

/** The path template that served the request, such as `/v1/pets/:petId`; 'unmatched' when none did. */
export function routeOf(request: Request): string {
  const path: unknown = (request.route as { path?: unknown } | undefined)?.path;
  return typeof path === 'string' && !path.includes('*') ? path : 'unmatched';
}

/** The owner and the API key of a request, as the log shows them. */
export interface LoggedCaller {
  ownerId: string;
  keyId: string;
}

/**
 * Returns the observer that writes one line for each request: health probes at level debug, a 503 at warn with its
 * cause, a 500 at error with the whole error, all others at info. The line has no query, no body, and no API key.
 *
 * @param callerOf returns the owner and the API key of a request, also of a known key that is rejected
 */
export function accessLog(
  logger: Logger,
  addressForm: ClientAddressForm,
  callerOf: (request: Request) => LoggedCaller | undefined,
): ResponseObserver {
  return (request, response, durationMs) => {
    const { failure } = request;
    const route = routeOf(request);
    const status = response.statusCode;
    const level = levelOf(route, failure?.status ?? status);
    if (!logger.isLevelEnabled(level)) return;
    const caller = callerOf(request);
    logger[level](
      {
        requestId: request.id,
        traceId: request.traceId,
        method: request.method,
        path: readablePath(request.originalUrl),
        route,
        status,
        code: failure?.code,
        durationMs: Math.round(durationMs * 1000) / 1000,
        ownerId: caller?.ownerId,
        keyId: caller?.keyId,
        clientAddress: loggedAddress(request.clientAddress, addressForm),
        aborted: response.writableFinished ? undefined : true,
        ...(failure && failure.status >= 500 && causeOf(failure)),
      },
      'request',
    );
  };
}

function levelOf(route: string, status: number): 'debug' | 'info' | 'warn' | 'error' {
  if (status >= 500 && status !== 503) return 'error';
  if (route.startsWith('/health/')) return 'debug';
  return status === 503 ? 'warn' : 'info';
}

/** The stack only of a defect: during an outage, every request has the same cause. */
function causeOf(failure: ServiceError): { cause: string } | { err: unknown } {
  const cause = failure.cause ?? failure;
  return failure.code === 'service_unavailable' ? { cause: describeCause(cause) } : { err: cause };
}

/** Returns the decoded path: an API key in percent-encoding would not be masked. Queries can hold secrets. */
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
