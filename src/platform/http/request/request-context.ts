import { isIPv4 } from 'node:net';
import type { ArgumentsHost, ExecutionContext } from '@nestjs/common';
import {
  DiscoveryService,
  MetadataScanner,
  type ReflectableDecorator,
  Reflector,
} from '@nestjs/core';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/internal';
import { normalizeIp } from '@nestjs/throttler';
import type { LoggingSettings } from '../../config/settings.js';
import type { Request, Response } from './request.js';

/** One client usually has a whole network of this size. */
const IPV6_NETWORK_BITS = 64;

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

/** Returns whether a request with a read-only API key does not only read. */
export function exceedsAccess({ method, state: { caller } }: Request): boolean {
  const isReadOnly = caller?.kind === 'key' && caller.key.access === 'read';
  return isReadOnly && !/^(?:GET|HEAD|OPTIONS)$/.test(method);
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

export function requestOf(host: ArgumentsHost): Request {
  return host.getArgByIndex<Request>(0);
}

export function responseOf(host: ArgumentsHost): Response {
  return host.getArgByIndex<Response>(1);
}

const scanner = new MetadataScanner();

/** Returns each controller and each of its methods, with the name of the controller. */
export function decoratedTargets(discovery: DiscoveryService): [name: string, target: object][] {
  return discovery.getControllers().flatMap(({ metatype }) => {
    const { name, prototype } = metatype as { name: string; prototype: Record<string, object> };
    const methods = scanner.getAllMethodNames(prototype).map((method) => prototype[method]);
    return [metatype, ...methods].map((target): [string, object] => [name, target as object]);
  });
}

/** The parameters of a handler with a decorator. The keys begin with the kind, such as that of `@Body()`. */
type RouteParameters = Readonly<
  Record<string, { readonly factory?: unknown; readonly data?: unknown }>
>;

/** Returns the parameters of the handler of a route, also if a decorator has wrapped the method. */
export function routeParameters(context: ExecutionContext): RouteParameters {
  const handler: object = context.getHandler();
  const { prototype } = context.getClass() as { prototype: Record<string, object> };
  const methods = scanner.getAllMethodNames(prototype);
  const name = methods.find((method) => prototype[method] === handler);
  const type = context.getClass();
  return (Reflect.getMetadata(ROUTE_ARGS_METADATA, type, name ?? '') ?? {}) as RouteParameters;
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
