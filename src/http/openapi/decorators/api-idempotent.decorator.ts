import { applyDecorators } from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';
import { PUBLIC_MESSAGES } from '../../../errors/public-messages.js';
import { ApiErrors } from './api-errors.decorator.js';

/** Marks the operation for `describeOperation`, which removes this extension. */
export const IDEMPOTENT_EXTENSION = 'x-idempotent';

/** Describes an operation that accepts an `Idempotency-Key`. */
export function ApiIdempotent(): MethodDecorator {
  return applyDecorators(
    ApiExtension(IDEMPOTENT_EXTENSION, true),
    ApiErrors({
      idempotency_key_in_progress: PUBLIC_MESSAGES.idempotencyKeyInProgress,
      idempotency_key_reused: PUBLIC_MESSAGES.idempotencyKeyReused,
    }),
  );
}
