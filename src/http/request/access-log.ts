import { isIPv4 } from 'node:net';
import { normalizeIp } from '@nestjs/throttler';
import type { Logger } from 'pino';
import type { ClientAddressForm } from '../../config/logging-settings.js';
import type { ServiceError } from '../../errors/service-error.js';
import { describeCause } from '../../logging/error-details.js';
import { decodedPath } from './request-context.js';
import type { NextFunction, Request, Response } from './request.js';

/** Called once per request, when the response has been sent or the connection has closed. */
export type ResponseObserver = (request: Request, response: Response, durationMs: number) => void;

/** Returns the middleware that reports every request to the log and the metrics. */
export function observeResponses(observers: readonly ResponseObserver[]) {
  return (request: Request, response: Response, next: NextFunction): void => {
    response.once('close', () => {
      const durationMs = performance.now() - request.receivedAt;
      for (const observe of observers) observe(request, response, durationMs);
    });
    next();
  };
}

/** Returns the path template of the route, such as `/v1/pets/:petId`, or 'unmatched'. */
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
 * Returns the observer that logs one line per request. The line contains no query, no body and no
 * API key.
 *
 * @param callerOf returns the caller also for a revoked or expired key
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
        // Without the query, which can contain secrets. Decoded, because the logger does not mask an
        // API key in percent-encoding.
        path: decodedPath(request.originalUrl),
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

/** Returns one line of text for a 503, because in an outage all requests have the same cause. */
function causeOf(failure: ServiceError): { cause: string } | { err: unknown } {
  const cause = failure.cause ?? failure;
  return failure.code === 'service_unavailable' ? { cause: describeCause(cause) } : { err: cause };
}

/** An IPv4 address as an IPv6 socket sees it (RFC 4291, section 2.5.5.2). */
const MAPPED_IPV4 = /^::ffff:(?=\d+\.)/i;
const IPV6_NETWORK_BITS = 48;

/** Returns the form of an address that the log may show. */
export function loggedAddress(
  address: string | undefined,
  form: ClientAddressForm,
): string | undefined {
  if (address === undefined || form === 'off') return undefined;
  if (form === 'full') return address.startsWith('::') ? address.replace(MAPPED_IPV4, '') : address;
  const network = normalizeIp(address, IPV6_NETWORK_BITS);
  if (isIPv4(network)) return `${network.slice(0, network.lastIndexOf('.'))}.0/24`;
  // The loopback address is the only one that normalizeIp returns without its prefix.
  return network === '::1' ? '::/48' : network;
}
