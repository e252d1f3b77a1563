import { PUBLIC_MESSAGES } from '../../../errors/public-messages.js';
import { errorResponse } from './error-response.js';
import type { Reference, Response } from './openapi-types.js';

/** Failures that are the same whatever the operation, by the name of their component. */
const COMPONENTS = {
  Unauthorized: errorResponse(401, {
    missing_api_key: 'An API key is required: send it as Authorization: Bearer <API_KEY>.',
    invalid_api_key: 'The API key is not valid.',
  }),
  RouteNotFound: errorResponse(404, { route_not_found: 'There is nothing at this path.' }),
  MethodNotAllowed: errorResponse(405, {
    method_not_allowed: 'This path takes GET, POST, HEAD, OPTIONS.',
  }),
  RequestTimeout: errorResponse(408, { request_timeout: 'The request did not arrive in time.' }),
  PayloadTooLarge: errorResponse(413, {
    payload_too_large: 'The request body must not be larger than 102400 bytes.',
  }),
  UnsupportedMediaType: errorResponse(415, {
    unsupported_media_type:
      'The Content-Type of the request body must be application/json, in UTF-8.',
  }),
  ExpectationFailed: {
    ...errorResponse(417, { invalid_request: 'Expect takes 100-continue only.' }),
    description: 'The request has an `Expect` field other than `100-continue`.',
  },
  TooManyRequests: errorResponse(429, {
    rate_limit_exceeded: PUBLIC_MESSAGES.rateLimitExceeded(30),
    api_key_banned: PUBLIC_MESSAGES.apiKeyBanned(300),
  }),
  HeadersTooLarge: errorResponse(431, {
    headers_too_large: 'The header fields of the request are too large.',
  }),
  InternalError: errorResponse(500, {
    internal_error: 'The service failed to handle the request.',
  }),
  ServiceUnavailable: errorResponse(503, {
    service_unavailable: 'The service cannot reach its database at the moment. Try again later.',
  }),
} as const satisfies Record<string, Response>;

type CommonResponse = keyof typeof COMPONENTS;

export const COMMON_RESPONSES: Readonly<Record<CommonResponse, Response>> = COMPONENTS;

/** What any operation may answer, whatever it does. */
export const EVERY_OPERATION = {
  401: 'Unauthorized',
  408: 'RequestTimeout',
  429: 'TooManyRequests',
  431: 'HeadersTooLarge',
  500: 'InternalError',
  503: 'ServiceUnavailable',
} as const satisfies Record<number, CommonResponse>;

/** What operations with a body may answer besides. */
export const OPERATION_WITH_BODY = {
  413: 'PayloadTooLarge',
  415: 'UnsupportedMediaType',
} as const satisfies Record<number, CommonResponse>;

/** Returns references to the responses, by status. */
export function commonResponses(
  names: Readonly<Record<number, CommonResponse>>,
): Record<string, Reference> {
  const entries = Object.entries(names).map(
    ([status, name]) => [status, { $ref: `#/components/responses/${name}` }] as const,
  );
  return Object.fromEntries(entries);
}
