import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiIdempotent } from '../http/openapi/decorators/api-idempotent.decorator.js';
import { perRoute } from '../http/request/request-context.js';

/** The metadata key of `@Idempotent()`. */
export const IDEMPOTENT = 'idempotent';

/**
 * Marks a handler that accepts an `Idempotency-Key`, and describes the header in the interface
 * description. The handler gets the key from `@IdempotencyKey()` and returns the result of
 * `Idempotency.once`. IdempotentRouteCheck and IdempotencyKeyGuard check both.
 */
export const Idempotent = (): MethodDecorator =>
  applyDecorators(SetMetadata(IDEMPOTENT, true), ApiIdempotent());

/** Returns whether the handler of the request is `@Idempotent()`. */
export const isIdempotent = perRoute((context) =>
  Reflect.hasMetadata(IDEMPOTENT, context.getHandler()),
);
