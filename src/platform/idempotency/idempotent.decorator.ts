import { applyDecorators, SetMetadata } from '@nestjs/common';
import { PUBLIC_MESSAGES } from '../errors/public-messages.js';
import { ApiErrors } from '../http/openapi/decorators/api-errors.decorator.js';
import { perRoute } from '../http/request/request-context.js';

/** The metadata key of `@Idempotent()`. */
export const IDEMPOTENT = 'idempotent';

/**
 * Marks a handler that accepts an `Idempotency-Key`, and describes the header in the interface
 * description. The handler gets the key from `@IdempotencyKey()` and returns the result of
 * `Idempotency.once`. RouteChecks and IdempotencyKeyGuard check both.
 */
export const Idempotent = (): MethodDecorator =>
  applyDecorators(
    SetMetadata(IDEMPOTENT, true),
    // The errors imply the header in the interface description.
    ApiErrors({
      idempotency_key_in_progress: PUBLIC_MESSAGES.idempotencyKeyInProgress,
      idempotency_key_reused: PUBLIC_MESSAGES.idempotencyKeyReused,
    }),
  );

/** Returns whether the handler of the request is `@Idempotent()`. */
export const isIdempotent = perRoute((context) =>
  Reflect.hasMetadata(IDEMPOTENT, context.getHandler()),
);
