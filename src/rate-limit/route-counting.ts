import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/internal';
import { isUncounted } from '../auth/public.decorator.js';
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
  controller: object,
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
      // The path of the controller, the path of the handler, and the number of the method.
      route: [
        Reflect.getMetadata(PATH_METADATA, controller),
        Reflect.getMetadata(PATH_METADATA, handler),
        Reflect.getMetadata(METHOD_METADATA, handler),
      ].join(' '),
    },
  };
}
