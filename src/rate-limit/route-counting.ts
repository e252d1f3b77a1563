import type { Type } from '@nestjs/common';
import { perRoute } from '../http/request/request-context.js';
import type { Quota } from './limit-storage.js';

/** The metadata of @nestjs/throttler, which it does not export: a prefix and a throttler's name. */
export const THROTTLER_METADATA =
  /^THROTTLER:(LIMIT|TTL|SKIP|BLOCK_DURATION|TRACKER|KEY_GENERATOR)(.*)$/;

/** How the requests to a route are counted. */
export interface RouteCounting {
  /** The route is `@SkipThrottle()`. */
  readonly isSkipped: boolean;
  /** The limit of `@Throttle()`, in addition to those of the caller. */
  readonly quota: Quota | undefined;
}

/** Returns how the requests to the route are counted. RouteLimitCheck has checked the decorators. */
export const routeCounting = perRoute((context) =>
  readRouteCounting(context.getClass(), context.getHandler()),
);

/** Reads the decorators of a handler and its controller. Those of the handler take precedence. */
export function readRouteCounting(
  controller: { readonly name: string },
  handler: object,
): RouteCounting {
  const read = (key: string): unknown =>
    Reflect.getMetadata(key, handler) ?? Reflect.getMetadata(key, controller);
  const isSkipped = read('THROTTLER:SKIPdefault') === true;
  const hasLimit = [handler, controller].some((target) =>
    Reflect.hasMetadata('THROTTLER:LIMITdefault', target),
  );
  if (isSkipped || !hasLimit) return { isSkipped, quota: undefined };
  return {
    isSkipped,
    quota: {
      name: 'route',
      limit: read('THROTTLER:LIMITdefault') as number,
      lengthMs: read('THROTTLER:TTLdefault') as number,
      route: `${controller.name}.${(handler as Type).name}`,
    },
  };
}
