import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { requestOf } from '../http/request/request.js';
import type { Caller as RequestCaller } from '../http/request/caller.js';

export type Caller = RequestCaller;

/** A parameter of a handler: who sends the request. Not on `@Public()` routes. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  callerOf(context),
);

/**
 * Returns who sends the request, for guards and interceptors.
 *
 * @throws Error on a `@Public()` route, which needs no API key
 */
export function callerOf(context: ExecutionContext): Caller {
  const caller = findCaller(context);
  if (caller) return caller;
  throw new Error('A @Public() route has no caller, because it needs no API key.');
}

/** Returns who sends the request, or null without a valid API key, which a `@Public()` route accepts. */
export function findCaller(context: ExecutionContext): Caller | null {
  const { caller } = requestOf(context).state;
  return caller?.kind === 'key' ? caller.key : null;
}
