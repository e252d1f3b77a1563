import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { requestOf } from '../http/request/request-context.js';
import { isIdempotent } from './idempotent.decorator.js';

/** Passes the `Idempotency-Key` to an `@Idempotent()` handler, undefined without the header. */
export const IdempotencyKey = createParamDecorator(
  (_data: unknown, context: ExecutionContext): string | undefined => {
    if (!isIdempotent(context))
      throw new Error('@IdempotencyKey() requires @Idempotent() on the handler.');
    return requestOf(context).idempotencyKey;
  },
);
