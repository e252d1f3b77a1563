import { RequestMethod, type Type } from '@nestjs/common';
import { GUARDS_METADATA, METHOD_METADATA, PATH_METADATA } from '@nestjs/common/internal';
import { ThrottlerGuard } from '@nestjs/throttler';
import { THROTTLER_LIMIT, THROTTLER_TTL } from '@nestjs/throttler/dist/throttler.constants.js';
import { isUncounted, SKIP_THROTTLE } from '../access/public.decorator.js';
import { SECOND_MS } from '../config/clock.js';
import { perRoute } from '../http/request/request-context.js';
import type { RouteHandler } from '../http/request/route-handlers.js';
import type { Quota } from './limit-storage.js';

// The metadata of `@Throttle()`: a prefix and the name of a throttler.
const LIMIT = `${THROTTLER_LIMIT}default`;
const TTL = `${THROTTLER_TTL}default`;

/** More than any route can serve in a day. */
const MAX_LIMIT = 2 ** 32 - 1;

/** Returns how the requests to a route are counted. RouteChecks has checked the decorators. */
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

/** Returns one line for each decorator of @nestjs/throttler that would not limit the route as it says. */
export function routeLimitProblems({ controller, name, method }: RouteHandler): string[] {
  const problems: string[] = [];
  if ([method, controller].some(hasUnsupportedOption)) {
    problems.push("@Throttle() supports only limit and ttl, of the throttler 'default'.");
  }
  if ([method, controller].some(hasThrottlerGuard)) {
    problems.push(
      'ThrottlerGuard would replace the rate limit headers. Remove it, and use @Throttle().',
    );
  }
  const { limit, lengthMs } = routeQuota(controller, method) ?? { limit: 1, lengthMs: SECOND_MS };
  if (!(Number.isInteger(limit) && limit > 0 && limit <= MAX_LIMIT)) {
    problems.push('The limit of @Throttle() must be an integer from 1 to 4294967295.');
  }
  if (!(Number.isSafeInteger(lengthMs) && lengthMs > 0 && lengthMs % SECOND_MS === 0)) {
    problems.push('The ttl of @Throttle() must be whole seconds, in milliseconds: 60_000.');
  }
  return problems.map((problem) => `${controller.name}.${name}: ${problem}`);
}

/** `@UseGuards(ThrottlerGuard)`, or an APP_GUARD of a feature. */
function hasThrottlerGuard(target: object): boolean {
  const guards = (Reflect.getMetadata(GUARDS_METADATA, target) ?? []) as (object | Type)[];
  return guards.some((guard) => {
    const prototype: unknown = typeof guard === 'function' ? guard.prototype : guard;
    return prototype instanceof ThrottlerGuard || prototype === ThrottlerGuard.prototype;
  });
}

function hasUnsupportedOption(target: object): boolean {
  return Reflect.getMetadataKeys(target).some(
    (key: unknown) =>
      String(key).startsWith('THROTTLER:') &&
      ![LIMIT, TTL, SKIP_THROTTLE].includes(String(key)) &&
      Reflect.getMetadata(key, target) !== undefined,
  );
}
