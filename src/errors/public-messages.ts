/** Messages that the service sends and that the interface description quotes as examples. */
export const PUBLIC_MESSAGES = {
  rateLimitExceeded: (retryAfterSeconds: number): string =>
    `Rate limit exceeded. ${tryAgainIn(retryAfterSeconds)}`,
  apiKeyBanned: (retryAfterSeconds: number): string =>
    `This API key is temporarily banned because it kept sending requests over its rate limit. ${tryAgainIn(retryAfterSeconds)}`,
  idempotencyKeyInProgress:
    'The first request with this Idempotency-Key is still in progress. Try again in a moment.',
  idempotencyKeyReused:
    'This Idempotency-Key was already used for a different request. Use a new key.',
} as const;

function tryAgainIn(seconds: number): string {
  return `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
}
