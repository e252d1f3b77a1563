import { PUBLIC_MESSAGES } from '../../../errors/public-messages.js';
import { ApiErrors } from './api-errors.decorator.js';

/** Describes an operation that accepts an `Idempotency-Key`. The errors imply the header. */
export function ApiIdempotent(): MethodDecorator {
  return ApiErrors({
    idempotency_key_in_progress: PUBLIC_MESSAGES.idempotencyKeyInProgress,
    idempotency_key_reused: PUBLIC_MESSAGES.idempotencyKeyReused,
  });
}
