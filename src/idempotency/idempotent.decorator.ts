import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiIdempotent } from '../http/openapi/decorators/api-idempotent.decorator.js';
import { perRoute } from '../http/request/http-context.js';

const IDEMPOTENT = 'idempotent';

/**
 * Lets a handler take an `Idempotency-Key`, and describes it in the interface description. The handler
 * gets the key by `@IdempotencyKey()` and answers with what `Idempotency.once` returns.
 */
export const Idempotent = (): MethodDecorator =>
  applyDecorators(SetMetadata(IDEMPOTENT, true), ApiIdempotent());

/** Whether the handler that is being asked for is `@Idempotent()`. */
export const isIdempotent = perRoute((context) =>
  Reflect.hasMetadata(IDEMPOTENT, context.getHandler()),
);
