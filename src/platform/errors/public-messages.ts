/** Messages that the service sends and that the interface description quotes as examples. */
export const PUBLIC_MESSAGES = {
  missingApiKey: 'An API key is required. Send it as Authorization: Bearer <API_KEY>.',
  invalidApiKey: 'The API key is not valid.',
  routeNotFound: 'No route matches this path.',
  methodNotAllowed: (allowedMethods: string): string =>
    `Method not allowed. Allowed methods: ${allowedMethods}.`,
  requestTimeout: 'The request did not arrive in time.',
  malformedJson: (problem: string): string =>
    `The request body ${problem}. It must be JSON in UTF-8.`,
  invalidCursor: 'The cursor is malformed or belongs to a list with different filters.',
  payloadTooLarge: (maxBytes: number): string =>
    `The request body must not be larger than ${maxBytes} bytes.`,
  tooManyChunks: 'The request body must not have more than 256 chunks.',
  unsupportedContentType:
    'The Content-Type of the request body must be application/json, in UTF-8.',
  unsupportedUploadType: 'The Content-Type of an upload must be multipart/form-data.',
  unsupportedContentEncoding:
    'The request body must not be compressed. Send it without Content-Encoding.',
  unsupportedExpect: 'Unsupported Expect header. Only 100-continue is supported.',
  rateLimitExceeded: (retryAfterSeconds: number): string =>
    `Rate limit exceeded. ${tryAgainIn(retryAfterSeconds)}`,
  apiKeyBanned: (retryAfterSeconds: number): string =>
    `This API key is temporarily banned because it kept sending requests over its rate limit. ${tryAgainIn(retryAfterSeconds)}`,
  idempotencyKeyInProgress:
    'The first request with this Idempotency-Key is still in progress. Try again in a moment.',
  idempotencyKeyReused:
    'This Idempotency-Key was already used for a different request. Use a new key.',
  headersTooLarge: 'The request headers are too large or too many.',
  notFound: 'The resource does not exist.',
  unstorableValue:
    'A value of the request is out of range, too long, or contains NUL or a lone surrogate.',
  internalError: 'The service failed to handle the request.',
  serviceUnavailable: 'The service is unavailable at the moment. Try again later.',
  responseDeadline: 'The service did not respond in time. Try again later.',
  databaseUnavailable: 'The service cannot reach its database at the moment. Try again later.',
  serviceOverloaded: 'The service is overloaded. Try again later.',
} as const;

function tryAgainIn(seconds: number): string {
  return `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
}
