import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { requestOf } from '../http/request/request-context.js';

/** Reads the key of a request. RouteChecks finds the parameters that use it. */
export const readKey = (_data: unknown, context: ExecutionContext): string | undefined =>
  requestOf(context).idempotencyKey;

/** Passes the `Idempotency-Key` to an `@Idempotent()` handler, undefined without the header. */
export const IdempotencyKey = createParamDecorator(readKey);
