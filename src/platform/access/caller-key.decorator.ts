import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { requestOf } from '../http/request/request-context.js';
import type { CachedKey } from './cached-key.js';

/** Injects the request's API key into a controller method. Not for `@Public()` routes. */
export const CallerKey = createParamDecorator(
  (_data: unknown, context: ExecutionContext): CachedKey => {
    const { caller } = requestOf(context);
    if (caller?.kind === 'key') return caller.key;
    throw new Error('A @Public() route has no @CallerKey(), because it needs no API key.');
  },
);
