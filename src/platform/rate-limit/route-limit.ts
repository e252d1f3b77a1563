import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/internal';
import { THROTTLER_LIMIT, THROTTLER_TTL } from '@nestjs/throttler/dist/throttler.constants.js';
import { isUncounted } from '../access/public.decorator.js';
import { perRoute } from '../http/request/request-context.js';
import type { Quota } from './limit-storage.js';

// The metadata of `@Throttle()`: a prefix and the name of a throttler.
const LIMIT = `${THROTTLER_LIMIT}default`;
const TTL = `${THROTTLER_TTL}default`;

/** Returns how the requests to a route are counted. */
export const routeCounting = perRoute((context) => {
  const [controller, handler] = [context.getClass(), context.getHandler()];
  return { isSkipped: isUncounted(controller, handler), quota: routeQuota(controller, handler) };
});

/** Returns the limit of `@Throttle()`. The handler's decorator takes precedence. */
function routeQuota(controller: object, handler: object): Quota | undefined {
  const read = (key: string, target = handler): unknown => Reflect.getMetadata(key, target);
  const source = [handler, controller].find((target) => Reflect.hasMetadata(LIMIT, target));
  if (!source || isUncounted(controller, handler)) return undefined;
  // Two handlers cannot have the same method and path, so each has a window of its own.
  const method = RequestMethod[read(METHOD_METADATA) as RequestMethod];
  return {
    name: 'route',
    limit: read(LIMIT, source) as number,
    lengthMs: read(TTL, source) as number,
    route: `${method} ${String(read(PATH_METADATA, controller))}/${String(read(PATH_METADATA))}`,
  };
}
