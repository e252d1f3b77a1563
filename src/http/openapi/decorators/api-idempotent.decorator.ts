import { ApiExtension } from '@nestjs/swagger';

/** Where it stands in an operation, until the description is put together, that it takes an idempotency key. */
export const IDEMPOTENT_EXTENSION = 'x-idempotent';

/** Describes an operation that takes an `Idempotency-Key`. */
export function ApiIdempotent(): MethodDecorator {
  return ApiExtension(IDEMPOTENT_EXTENSION, true);
}
