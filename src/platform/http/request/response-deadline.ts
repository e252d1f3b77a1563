import { type CustomDecorator, SetMetadata } from '@nestjs/common';

/** The metadata key of `@ResponseDeadline()`. */
export const RESPONSE_DEADLINE = 'response-deadline';

/**
 * Sets how long the caller of a route, or of the routes of a controller, waits for the response. Then
 * the service sends 503.
 *
 * @param limitMs in milliseconds, less than STALLED_CONNECTION_TIMEOUT_SECONDS
 */
export const ResponseDeadline = (limitMs: number): CustomDecorator =>
  SetMetadata(RESPONSE_DEADLINE, limitMs);
