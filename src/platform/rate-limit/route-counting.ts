import type { Type } from '@nestjs/common';
import { isUncounted } from '../access/public.decorator.js';
import { perRoute } from '../http/request/request-context.js';
import type { Quota } from './limit-storage.js';

/** Returns how the requests to the route are counted. RouteChecks has checked the decorators. */
export const routeCounting = perRoute((context) =>
  readRouteCounting(context.getClass(), context.getHandler()),
);

/**
 * Reads `@SkipThrottle()` and the limit of `@Throttle()`, which is in addition to those of the
 * caller. The decorators of the handler take precedence over those of the controller.
 */
export function readRouteCounting(
  controller: { readonly name: string },
  handler: object,
): { isSkipped: boolean; quota: Quota | undefined } {
  const read = (key: string): unknown =>
    Reflect.getMetadata(key, handler) ?? Reflect.getMetadata(key, controller);
  const isSkipped = isUncounted(controller, handler);
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
