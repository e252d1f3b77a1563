import { randomUUID } from 'node:crypto';
import { isIP, isIPv4 } from 'node:net';
import { trace } from '@opentelemetry/api';
import {
  type ArgumentsHost,
  type ExecutionContext,
  Injectable,
  type NestMiddleware,
} from '@nestjs/common';
import { type ReflectableDecorator, Reflector } from '@nestjs/core';
import { normalizeIp } from '@nestjs/throttler';
import { CLS_ID, ClsService, ClsServiceManager } from 'nestjs-cls';
import type { LoggingSettings } from '../../config/settings.js';
import type { NextFunction, Request, Response } from './request.js';

const REQUEST_ID = /^[A-Za-z0-9_-]{1,128}$/;
/** One client usually has a whole network of this size. */
const IPV6_NETWORK_BITS = 64;
const MAX_FORWARDED_ADDRESSES = 16;
/** W3C Trace Context: version, trace-id, parent-id, flags. Later versions may append fields. */
const TRACE_PARENT =
  /^(?:00(?=.{53}$)|(?!00|ff)[0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)/;

/** The key of the request in the AsyncLocalStorage. */
const REQUEST = Symbol('request');

/**
 * Identifies the request, and sets the headers of every response. Everything that runs for the request
 * finds it with `ClsService`: the logger its identifiers, others its caller.
 */
@Injectable()
export class RequestContext implements NestMiddleware {
  constructor(private readonly cls: ClsService) {}

  use(request: Request, response: Response, next: NextFunction): void {
    request.receivedAt = performance.now();
    request.id = requestId(request.headers['x-request-id']);
    const { traceparent } = request.headers;
    request.traceId =
      (traceparent && TRACE_PARENT.exec(String(traceparent))?.[1]) ||
      trace.getActiveSpan()?.spanContext().traceId;
    // Read now, because a disconnected socket has no address.
    request.clientAddress = clientAddress(request);
    response.setHeader('X-Request-Id', request.id);
    response.setHeader('X-Content-Type-Options', 'nosniff');
    this.cls.runWith({ [CLS_ID]: request.id, [REQUEST]: request }, next);
  }
}

/** Returns the request that the calling code handles, undefined outside of one. */
export function currentRequest(): Request | undefined {
  return ClsServiceManager.getClsService().get(REQUEST);
}

/** Returns the identifiers of the request that the calling code handles, for its log lines. */
export function currentRequestIds() {
  const request = currentRequest();
  // A connection or timer that a request has created stays in the context of this request.
  if (!request || request.res?.destroyed) return undefined;
  return { requestId: request.id, traceId: request.traceId };
}

/** Returns the caller's `X-Request-Id` if it is well-formed, otherwise a generated id. */
export function requestId(header: string | string[] | undefined): string {
  return typeof header === 'string' && REQUEST_ID.test(header) ? header : randomUUID();
}

/** The paths of HealthController, with or without a query. */
const HEALTH_PROBE = /^\/health\/(?:live|ready)(?:$|\?)/;

/** Returns whether a request is a health probe, which is never shed or delayed. */
export function isHealthProbe({ method, url }: Request): boolean {
  return (method === 'GET' || method === 'HEAD') && HEALTH_PROBE.test(url);
}

/** The path of the catch-all route, which has all methods. */
export const EVERY_PATH = '/{*path}';

/** Returns the path template of the route, such as `/v1/toys/:toyId`, or 'unmatched'. */
export function routeOf(request: Request): string {
  const path: unknown = (request.route as { path?: unknown } | undefined)?.path;
  return typeof path === 'string' && path !== EVERY_PATH ? path : 'unmatched';
}

/** Returns whether the request has a body (RFC 9112, section 6.3). */
export function hasBody(request: Request): boolean {
  const length = request.headers['content-length'];
  return (length !== undefined && !/^0+$/.test(length)) || 'transfer-encoding' in request.headers;
}

/** Returns the address that limits per client apply to: an IPv4 address or an IPv6 /64 network. */
export function clientNetwork(address: string | undefined): string {
  return address === undefined ? 'unknown' : normalizeIp(address, IPV6_NETWORK_BITS);
}

/** Returns the form of an address that the log may show. */
export function loggedAddress(
  address: string | undefined,
  form: LoggingSettings['clientAddress'],
): string | undefined {
  if (address === undefined || form === 'off') return undefined;
  // An IPv4 address as an IPv6 socket sees it (RFC 4291, section 2.5.5.2).
  if (form === 'full') return address.replace(/^::ffff:(?=\d+\.)/i, '');
  const network = normalizeIp(address, 48);
  if (isIPv4(network)) return `${network.slice(0, network.lastIndexOf('.'))}.0/24`;
  // The loopback address is the only one that normalizeIp returns without its prefix.
  return network === '::1' ? '::/48' : network;
}

/**
 * Returns the client's address, from `X-Forwarded-For` as far as TRUST_PROXY allows. A header with more
 * addresses than the limit is emptied, because `request.ip` compares each one with the proxies.
 */
function clientAddress(request: Request): string | undefined {
  const { headers, socket } = request;
  const forwarded = headers['x-forwarded-for']?.toString();
  // Without the header, Express returns the same address, but slower.
  if (forwarded === undefined) return socket.remoteAddress;
  if (forwarded.split(',', MAX_FORWARDED_ADDRESSES + 1).length > MAX_FORWARDED_ADDRESSES) {
    headers['x-forwarded-for'] = '';
  }
  const { ip } = request;
  return ip !== undefined && isIP(ip) ? ip : socket.remoteAddress;
}

export function requestOf(host: ArgumentsHost): Request {
  return host.getArgByIndex<Request>(0);
}

export function responseOf(host: ArgumentsHost): Response {
  return host.getArgByIndex<Response>(1);
}

const reflector = new Reflector();

/**
 * Returns what a decorator declares for a route: on its handler, or else on its controller.
 *
 * @param key a decorator of `Reflector.createDecorator`, or the key of a decorator of a package
 */
export function routeMetadata<Value>(
  context: ExecutionContext,
  key: ReflectableDecorator<never, Value> | string,
): Value | undefined {
  const targets = [context.getHandler(), context.getClass()];
  return reflector.getAllAndOverride<Value | undefined>(key, targets);
}
