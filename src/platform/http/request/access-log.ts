import { isIPv4 } from 'node:net';
import { normalizeIp } from '@nestjs/throttler';
import type { Logger } from 'pino';
import type { ClientAddressForm } from '../../config/logging-settings.js';
import type { ServiceError } from '../../errors/service-error.js';
import { describeCause } from '../../logging/error-details.js';
import type { Request, Response } from './request.js';

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
 * Logs the line of a request. It contains no query, no body and no API key.
 *
 * @param caller the caller, also of a request with a revoked or expired API key
 */
export function logRequest(
  logger: Logger,
  addressForm: ClientAddressForm,
  request: Request,
  response: Response,
  durationMs: number,
  caller: LoggedCaller | undefined,
): void {
  const { failure } = request;
  const route = routeOf(request);
  const status = response.statusCode;
  const level = levelOf(route, failure?.status ?? status);
  if (!logger.isLevelEnabled(level)) return;
  logger[level](
    {
      requestId: request.id,
      traceId: request.traceId,
      method: request.method,
      path: loggedPath(request.originalUrl),
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
}

const MAX_PATH_LENGTH = 300;
const API_KEY = /aas_[0-9A-Za-z]{36}/g;
const ENCODED_ASCII = /%[2-7][\da-f]/gi;

/**
 * Returns the path as it was sent, without the query, which can contain secrets. Bytes outside of
 * ASCII are percent-encoded, because they can be control characters of a terminal.
 */
function loggedPath(target: string): string {
  const query = target.indexOf('?');
  const path = query < 0 ? target : target.slice(0, query);
  // The logger masks API keys, but not in percent-encoding, and not a part of a key.
  const masked = path.length > MAX_PATH_LENGTH ? path.replace(API_KEY, 'aas_***') : path;
  if (path.includes('%') && path.replace(ENCODED_ASCII, decodeURIComponent).search(API_KEY) >= 0) {
    return '***';
  }
  return masked.slice(0, MAX_PATH_LENGTH).replace(/[^\x21-\x7e]/g, encodeByte);
}

function encodeByte(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
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
