import { type ExecutionContext, RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/internal';
import { MINUTE_MS } from '../config/clock.js';
import type { RouteMetadata } from '../http/request/route-metadata.js';
import type { Quota } from './limit-storage.js';

// The metadata of `@Throttle()`: a prefix, which the package does not export, and the name of a throttler.
const LIMIT = 'THROTTLER:LIMITdefault';
const TTL = 'THROTTLER:TTLdefault';

/** Returns the limit of `@Throttle()`. The handler's decorator takes precedence. */
export function routeQuota(context: ExecutionContext, metadata: RouteMetadata): Quota | undefined {
  const limit = metadata.of<number>(context, LIMIT);
  if (limit === undefined) return undefined;
  const read = (key: string, target: object = context.getHandler()): unknown =>
    Reflect.getMetadata(key, target);
  // Two handlers cannot have the same method and path, so each has a window of its own.
  const method = RequestMethod[read(METHOD_METADATA) as RequestMethod];
  const path = `${String(read(PATH_METADATA, context.getClass()))}/${String(read(PATH_METADATA))}`;
  const lengthMs = metadata.of<number>(context, TTL) ?? MINUTE_MS;
  return { name: 'route', limit, lengthMs, route: `${method} ${path}` };
}
