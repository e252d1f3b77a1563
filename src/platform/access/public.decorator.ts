import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiSecurity } from '@nestjs/swagger';
import { THROTTLER_SKIP } from '@nestjs/throttler/dist/throttler.constants.js';
import { perRoute } from '../http/request/request-context.js';
import type { RouteHandler } from '../http/request/route-handlers.js';

const PUBLIC = 'public';

/** The metadata of `@SkipThrottle()`. */
const SKIP_THROTTLE = `${THROTTLER_SKIP}default`;

/**
 * Makes a route or a controller public: it requires no API key. A request is counted for the owner
 * of a valid API key, otherwise for its address. `@SkipThrottle()` turns that off.
 */
export const Public = (): MethodDecorator & ClassDecorator =>
  applyDecorators(SetMetadata(PUBLIC, true), ApiSecurity({}));

/** Whether the route of the request, or its controller, is `@Public()`. */
export const isPublic = perRoute((context) =>
  [context.getClass(), context.getHandler()].some((target) => Reflect.hasMetadata(PUBLIC, target)),
);

/** Whether `@SkipThrottle()` applies to the route. The handler's decorator takes precedence. */
export const isUncounted = perRoute((context) => {
  const [controller, handler] = [context.getClass(), context.getHandler()];
  const isSkipped: unknown =
    Reflect.getMetadata(SKIP_THROTTLE, handler) ?? Reflect.getMetadata(SKIP_THROTTLE, controller);
  return isSkipped === true;
});

/** Returns one line if a decorator of @nestjs/throttler would have no effect on the route. */
export function throttlerProblems({ controller, name, method }: RouteHandler): string[] {
  const keys = [method, controller].flatMap((target): unknown[] => Reflect.getMetadataKeys(target));
  const isSupported = (key: unknown) =>
    key === SKIP_THROTTLE || !String(key).startsWith('THROTTLER:');
  if (keys.every(isSupported)) return [];
  const problem =
    '@Throttle() is not supported. The limits of a plan apply to all routes together.';
  return [`${controller.name}.${name}: ${problem}`];
}
