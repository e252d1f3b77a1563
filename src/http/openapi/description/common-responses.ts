import { PUBLIC_MESSAGES } from '../../../errors/public-messages.js';
import { errorResponse } from './error-response.js';
import type { Reference, Response } from './openapi-types.js';

/** Error responses that operations share, by the name of their component. */
const COMPONENTS = {
  Unauthorized: errorResponse(401, {
    missing_api_key: PUBLIC_MESSAGES.missingApiKey,
    invalid_api_key: PUBLIC_MESSAGES.invalidApiKey,
  }),
  RouteNotFound: errorResponse(404, { route_not_found: PUBLIC_MESSAGES.routeNotFound }),
  MethodNotAllowed: errorResponse(405, {
    method_not_allowed: PUBLIC_MESSAGES.methodNotAllowed('GET, POST, HEAD, OPTIONS'),
  }),
  RequestTimeout: errorResponse(408, { request_timeout: PUBLIC_MESSAGES.requestTimeout }),
  PayloadTooLarge: errorResponse(413, {
    payload_too_large: PUBLIC_MESSAGES.payloadTooLarge(102_400),
  }),
  UnsupportedMediaType: errorResponse(415, {
    unsupported_media_type: PUBLIC_MESSAGES.unsupportedContentType,
  }),
  ExpectationFailed: {
    ...errorResponse(417, { invalid_request: PUBLIC_MESSAGES.unsupportedExpect }),
    description: 'The request has an `Expect` header other than `100-continue`.',
  },
  TooManyRequests: errorResponse(429, {
    rate_limit_exceeded: PUBLIC_MESSAGES.rateLimitExceeded(30),
    api_key_banned: PUBLIC_MESSAGES.apiKeyBanned(300),
  }),
  HeadersTooLarge: errorResponse(431, {
    headers_too_large: PUBLIC_MESSAGES.headersTooLarge,
  }),
  InternalError: errorResponse(500, {
    internal_error: PUBLIC_MESSAGES.internalError,
  }),
  ServiceUnavailable: errorResponse(503, {
    service_unavailable: PUBLIC_MESSAGES.databaseUnavailable,
  }),
} as const satisfies Record<string, Response>;

type CommonResponse = keyof typeof COMPONENTS;

export const COMMON_RESPONSES: Readonly<Record<CommonResponse, Response>> = COMPONENTS;

/** The error responses of every operation. */
export const EVERY_OPERATION = {
  401: 'Unauthorized',
  408: 'RequestTimeout',
  429: 'TooManyRequests',
  431: 'HeadersTooLarge',
  500: 'InternalError',
  503: 'ServiceUnavailable',
} as const satisfies Record<number, CommonResponse>;

/** The additional error responses of operations with a body. */
export const OPERATION_WITH_BODY = {
  413: 'PayloadTooLarge',
  415: 'UnsupportedMediaType',
} as const satisfies Record<number, CommonResponse>;

/** Returns references to these components, by status. */
export function commonResponses(
  names: Readonly<Record<number, CommonResponse>>,
): Record<string, Reference> {
  const entries = Object.entries(names).map(
    ([status, name]) => [status, { $ref: `#/components/responses/${name}` }] as const,
  );
  return Object.fromEntries(entries);
}
