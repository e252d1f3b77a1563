import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/internal';
import { requestOf } from '../http/request/request-context.js';
import type { RouteHandler } from '../http/request/route-handlers.js';
import type { CachedKey } from './cached-key.js';
import { isPublicHandler } from './public.decorator.js';

/** Injects the request's API key into a controller method. */
export const CallerKey = createParamDecorator(callerKey);

function callerKey(_data: unknown, context: ExecutionContext): CachedKey {
  const { caller } = requestOf(context);
  if (caller?.kind !== 'key') throw new Error('@CallerKey() requires an API key');
  return caller.key;
}

/** Returns a line if a handler with `@CallerKey()` also accepts requests without an API key. */
export function callerKeyProblems({ controller, name, method }: RouteHandler): string[] {
  const parameters: unknown = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name);
  const factories = Object.values((parameters ?? {}) as Record<string, { factory?: unknown }>);
  const takesKey = factories.some(({ factory }) => factory === callerKey);
  if (!takesKey || !isPublicHandler(controller, method)) return [];
  return [`${controller.name}.${name}: a @Public() route has no @CallerKey(). Remove one of them.`];
}
