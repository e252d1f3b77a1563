import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { requestOf } from '../http/request/request-context.js';
import type { CachedKey } from './cached-key.js';

/** Injects the request's API key into a controller method. */
export const CallerKey = createParamDecorator(
  (_data: unknown, context: ExecutionContext): CachedKey => {
    const { caller } = requestOf(context);
    if (caller?.kind !== 'key')
      throw new Error('@CallerKey() is used on a route that requires no API key');
    return caller.key;
  },
);
