import { STATUS_CODES } from 'node:http';

/** An error of a feature, which declares it as a constant and lists it in `@ApiErrors()`. */
export interface FeatureError {
  readonly code: string;
  /** The HTTP status of the response. */
  readonly status: number;
  /** When the service sends the error: the default message, also for the OpenAPI description. */
  readonly when: string;
}

/** The message for an API key that is not valid. @param prefix of every API key */
export const invalidKeyMessage = (prefix: string) =>
  `The API key is not valid: it may be mistyped, revoked or expired. It consists of ${prefix} and 36 letters and digits, which are case-sensitive. Send it as Authorization: Bearer <API_KEY>, with Bearer once and without quotes or brackets. The operator of the service issues API keys.`;

/** The message for a path without a route. @param prefixes of the paths of all versions */
export const routeNotFoundMessage = (...prefixes: readonly string[]) =>
  `No route matches this path. Paths are case-sensitive, begin with ${prefixes.join(' or ')} and have no trailing slash.`;

/** The message for a body that is not JSON. @param maxValues of the body */
export const malformedJsonMessage = (maxValues: number) =>
  `The body is not JSON in UTF-8, nests deeper than 32 levels, or has more than ${maxValues.toLocaleString('en-US')} values.`;

/** The message for a body that is too large. */
export const payloadTooLargeMessage = (maxBytes: number) =>
  `The JSON is over ${maxBytes.toLocaleString('en-US')} bytes, or 256 HTTP chunks.`;

/**
 * The errors of every service. Clients switch on the code. The OpenAPI description lists these and
 * those that routes declare.
 */
export const ERRORS = {
  invalid_request: { status: 400, when: 'A parameter, header or field is missing or invalid.' },
  malformed_json: { status: 400, when: malformedJsonMessage(10_000) },
  invalid_cursor: {
    status: 400,
    when: 'The cursor is malformed or belongs to a list with different filters. Follow the Link header of the previous page, or omit cursor to get the first page.',
  },
  missing_api_key: {
    status: 401,
    when: 'An API key is required. Send it as Authorization: Bearer <API_KEY>, without quotes.',
  },
  invalid_api_key: { status: 401, when: invalidKeyMessage('a prefix') },
  read_only_api_key: {
    status: 403,
    when: 'This API key is read-only: it allows GET, HEAD and OPTIONS. The operator of the service issues API keys.',
  },
  route_not_found: { status: 404, when: routeNotFoundMessage('/v1/') },
  method_not_allowed: { status: 405, when: 'The path does not allow the method.' },
  request_timeout: { status: 408, when: 'The request did not arrive in time.' },
  idempotency_key_in_progress: {
    status: 409,
    when: 'The first request with this Idempotency-Key is still in progress. Try again in a moment.',
  },
  endpoint_removed: { status: 410, when: 'The operation was removed.' },
  payload_too_large: { status: 413, when: payloadTooLargeMessage(102_400) },
  unsupported_media_type: {
    status: 415,
    when: 'The Content-Type of the request body must be application/json, in UTF-8.',
  },
  idempotency_key_reused: {
    status: 422,
    when: 'This Idempotency-Key was already used for a different request. A retry must have the same body, and a new request needs a new key.',
  },
  rate_limit_exceeded: { status: 429, when: 'The request is over the rate limit.' },
  api_key_banned: {
    status: 429,
    when: 'This API key is temporarily banned because it kept sending requests over its rate limit.',
  },
  headers_too_large: {
    status: 431,
    when: 'The URL and the headers of the request are too large, or there are too many headers.',
  },
  internal_error: { status: 500, when: 'The service failed to handle the request.' },
  service_unavailable: {
    status: 503,
    when: 'The service is unavailable at the moment. Try again later.',
  },
  forbidden: { status: 403, when: 'The caller may not use this operation or resource.' },
  not_found: { status: 404, when: 'The resource does not exist.' },
  precondition_failed: {
    status: 412,
    when: 'The resource has changed since you got this ETag. Get it again.',
  },
  conflict: { status: 409, when: 'The request conflicts with the state of the resource.' },
} as const satisfies Record<string, Omit<FeatureError, 'code'>>;

export type ErrorCode = keyof typeof ERRORS;

export const UNSUPPORTED_EXPECT = 'Unsupported Expect header. Only 100-continue is supported.';

/** The codes that the OpenAPI description always lists. Features often send the others. */
export const SERVICE_CODES = Object.keys(ERRORS).filter(
  (code) => !['forbidden', 'not_found', 'conflict', 'precondition_failed'].includes(code),
);

/** The codes for a status that says nothing about the reason, unless they are its name in HTTP. */
const GENERAL_CODES = ['invalid_request', 'headers_too_large', 'internal_error'] as const;

/** Returns the code for an error that has only an HTTP status: `not_found` for 404 Not Found. */
export function codeOfStatus(status: number): string {
  const phrase = STATUS_CODES[status]?.toLowerCase().replace(/\W+/g, '_');
  const code = GENERAL_CODES.find((general) => ERRORS[general].status === status) ?? phrase;
  return code ?? codeOfStatus(status < 500 ? 400 : 500);
}
