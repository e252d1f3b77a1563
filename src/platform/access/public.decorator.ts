import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiSecurity } from '@nestjs/swagger';
import { THROTTLER_SKIP } from '@nestjs/throttler/dist/throttler.constants.js';
import { perRoute } from '../http/request/request-context.js';

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
  [context.getHandler(), context.getClass()].some((target) => Reflect.hasMetadata(PUBLIC, target)),
);

/** Whether the caller is needed: for the rate limit, or because the route requires an API key. */
export const needsCaller = perRoute(
  (context) => !isPublic(context) || !isUncounted(context.getClass(), context.getHandler()),
);

/** Whether `@SkipThrottle()` applies to a handler. Its own decorator takes precedence. */
export function isUncounted(controller: object, handler: object): boolean {
  const isSkipped: unknown =
    Reflect.getMetadata(SKIP_THROTTLE, handler) ?? Reflect.getMetadata(SKIP_THROTTLE, controller);
  return isSkipped === true;
}
