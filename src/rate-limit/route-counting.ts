import type { Type } from '@nestjs/common';
import { DiscoveryService, type ModulesContainer } from '@nestjs/core';
import { isPublicHandler, isUncounted } from '../auth/public.decorator.js';
import { SECOND_MS } from '../config/clock.js';
import { ApiRouteLimit } from '../http/openapi/decorators/api-route-limit.decorator.js';
import { perRoute } from '../http/request/request-context.js';
import { routeHandlers } from '../http/request/route-handlers.js';
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

/** Adds the limits of `@Throttle()` to the interface description. Call it before that is made. */
export function describeRouteLimits(modules: ModulesContainer): void {
  for (const { controller, name, method } of routeHandlers(new DiscoveryService(modules))) {
    const { isSkipped, quota } = readRouteCounting(controller, method);
    const hasNoHeaders = isSkipped && isPublicHandler(controller, method);
    if (!quota && !hasNoHeaders) continue;
    const limit = quota ? { limit: quota.limit, seconds: quota.lengthMs / SECOND_MS } : 'none';
    ApiRouteLimit(limit)(controller.prototype as object, name, { value: method });
  }
}
