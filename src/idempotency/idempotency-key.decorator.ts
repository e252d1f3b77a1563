import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { requestOf } from '../http/request/http-context.js';
import { isIdempotent } from './idempotent.decorator.js';

/** Hands a method with `@Idempotent()` the idempotency key, undefined when none was sent. */
export const IdempotencyKey = createParamDecorator(
  (_data: unknown, context: ExecutionContext): string | undefined => {
    if (!isIdempotent(context)) throw new Error('@IdempotencyKey() without @Idempotent()');
    return requestOf(context).idempotencyKey;
  },
);
