import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { requestOf } from '../http/request/http-context.js';
import type { CachedKey } from './cached-key.js';

/** Hands a controller method the key that the request is made with. */
export const CallerKey = createParamDecorator(
  (_data: unknown, context: ExecutionContext): CachedKey => {
    const { caller } = requestOf(context);
    if (caller?.kind !== 'key') throw new Error('@CallerKey() on a route that takes no key');
    return caller.key;
  },
);
