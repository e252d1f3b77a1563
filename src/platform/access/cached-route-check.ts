import type { Type } from '@nestjs/common';
import {
  CUSTOM_ROUTE_ARGS_METADATA,
  INTERCEPTORS_METADATA,
  ROUTE_ARGS_METADATA,
  RouteParamtypes,
} from '@nestjs/common/internal';
import type { RouteHandler } from '../http/request/route-handlers.js';

/** Returns a line if an interceptor could send the response for one caller to another. */
export function cachingProblems(handler: RouteHandler): string[] {
  const { controller, name, method, isRequestScoped } = handler;
  const interceptors = [controller, method].flatMap(
    (target) => (Reflect.getMetadata(INTERCEPTORS_METADATA, target) ?? []) as (object | Type)[],
  );
  const parameters: unknown = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name);
  const getsCaller = Object.keys(parameters ?? {}).some(
    (kind) =>
      kind.includes(CUSTOM_ROUTE_ARGS_METADATA) || kind.startsWith(`${RouteParamtypes.REQUEST}:`),
  );
  if (!(getsCaller || isRequestScoped) || !interceptors.some(sharesResponses)) return [];
  return [
    `${controller.name}.${name}: CacheInterceptor would send the response for one caller to others. Extend it, and let trackBy() return a key with the owner.`,
  ];
}

/** Returns whether an interceptor is the CacheInterceptor of @nestjs/cache-manager, with its key. */
function sharesResponses(interceptor: object | Type): boolean {
  let type: unknown = typeof interceptor === 'function' ? interceptor : interceptor.constructor;
  while (typeof type === 'function') {
    if (type.name === 'CacheInterceptor') return true;
    if (Object.hasOwn((type.prototype ?? {}) as object, 'trackBy')) return false;
    type = Object.getPrototypeOf(type);
  }
  return false;
}
