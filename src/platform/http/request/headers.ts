import type { HeaderObject, HeadersObject } from '@nestjs/swagger';
import type { Product } from '../../config/product.js';
import type { ErrorCode } from '../../errors/catalogue.js';

// All headers of the API. The OpenAPI description and CORS read them here.

/** Which responses have a header. */
export type Occasion = 'always' | 'read' | 'page' | 'deprecated' | 'idempotent';

type On = Occasion | ErrorCode;

/** Which responses have a header, also by their error code. The schema has the type of the example. */
type Header = [on: On | readonly On[], description: string, example: string | number];

const ENTITY_TAG = '"mWV0aGluZyBsaWtlIHRoaXM0Mg"';
const RETRIED: On[] = [
  'rate_limit_exceeded',
  'api_key_banned',
  'service_unavailable',
  'idempotency_key_in_progress',
];

const RESPONSE_HEADERS: Record<string, Header> = {
  'X-Request-Id': ['always', 'Identifies the request in the logs.', 'request-1'],
  'X-Content-Type-Options': ['always', 'The declared media type is final.', 'nosniff'],
  'Cache-Control': ['always', '`no-store` unless the status is 200 or 304.', 'private, no-cache'],
  'X-RateLimit-Limit': ['always', 'The limit of the window that rejects or is closest to it.', 60],
  'X-RateLimit-Remaining': ['always', 'The remaining requests in this window.', 59],
  'X-RateLimit-Reset': ['always', 'When it ends, as a Unix timestamp in seconds.', 1795132860],
  'RateLimit-Policy': ['always', 'Quota `q` per `w` seconds.', '"minute";q=60;w=60'],
  RateLimit: ['always', 'Remaining requests `r`, `t` seconds until the end.', '"minute";r=59;t=60'],
  ETag: ['read', 'Identifies this representation. Send it as If-None-Match.', ENTITY_TAG],
  Vary: ['read', 'The request headers that the response depends on.', 'Authorization'],
  'Idempotent-Replayed': ['idempotent', 'The first response is sent again.', 'true'],
  Deprecation: ['deprecated', 'The date of the deprecation (RFC 9745).', '@1795132800'],
  Sunset: ['deprecated', 'The removal (RFC 8594).', 'Thu, 05 Dec 2030 00:00:00 GMT'],
  Link: [['page', 'deprecated'], 'The next page, or the successor.', '<?cursor=MA>; rel="next"'],
  'Retry-After': [RETRIED, 'The number of seconds to wait.', 30],
  'WWW-Authenticate': [
    ['missing_api_key', 'invalid_api_key', 'read_only_api_key'],
    'RFC 6750.',
    'Bearer',
  ],
  Allow: ['method_not_allowed', 'The methods that the path allows.', 'GET, HEAD, OPTIONS'],
  'Accept-Encoding': ['unsupported_media_type', 'The body was compressed.', 'identity'],
};

/** The headers of requests, as the OpenAPI description has them. */
export const REQUEST_HEADERS = {
  idempotencyKey: inRequests(
    'Idempotency-Key',
    'Makes retries safe for 24 hours: a request with the same key and an equal body gets the first successful response again. 1 to 255 visible ASCII characters, such as a UUID.',
  ),
  ifNoneMatch: inRequests('If-None-Match', 'ETags of earlier responses, or `*`. A match gets 304.'),
  requestId: inRequests('X-Request-Id', '1 to 128 letters, digits, `_` and `-`, for the logs.'),
  traceParent: inRequests('traceparent', 'W3C Trace Context, for the logs.'),
};

/** The names for CORS: scripts can send and read every header of the API. */
export const HEADER_NAMES = {
  ofRequests: ['Authorization', 'Content-Type'].concat(
    Object.values(REQUEST_HEADERS).map(({ name }) => name),
  ),
  ofResponses: Object.keys(RESPONSE_HEADERS),
};

/** Returns the `WWW-Authenticate` of a request without an API key. */
export const challengeOf = ({ realm }: Product): string => `Bearer realm="${realm}"`;

/** Returns the components of the OpenAPI description that `headersOn` refers to. */
export function headerComponents(product: Product): Record<string, HeaderObject> {
  const components = Object.entries(RESPONSE_HEADERS).map(([name, [on, description, example]]) => {
    const schema = { type: typeof example === 'string' ? 'string' : 'integer' };
    const required = on === 'always' || on === 'read';
    const shown = name === 'WWW-Authenticate' ? challengeOf(product) : example;
    return [name, { description, required, schema, example: shown }] as const;
  });
  return Object.fromEntries(components);
}

/** Returns references to the headers of responses. @param on their occasions and error codes */
export function headersOn(...on: readonly string[]): HeadersObject {
  const headers = Object.entries(RESPONSE_HEADERS).filter(([, [occasions]]) =>
    [occasions].flat().some((occasion) => on.includes(occasion)),
  );
  return Object.fromEntries(
    headers.map(([name]) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

// No example: Swagger UI would send it.
function inRequests(name: string, description: string) {
  return { name, in: 'header' as const, required: false, description, schema: { type: 'string' } };
}
