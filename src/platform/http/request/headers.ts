import type { HeaderObject, HeadersObject, ParameterObject } from '@nestjs/swagger';
import type { ErrorCode } from '../../errors/catalogue.js';

// All headers of the interface. The interface description and CORS read them here.

const ENTITY_TAG = '"mWV0aGluZyBsaWtlIHRoaXM0Mg"';
const UUID = '0b7c2f6e-5a0e-4f0e-9a55-6c1d3c1a7f42';
const REMOVAL = 'Thu, 05 Dec 2030 00:00:00 GMT';
const METHODS = 'GET, POST, HEAD, OPTIONS';

/** Which responses have a header: all, those of a kind of operation, or those with an error code. */
type Occasion = 'always' | 'read' | 'page' | 'idempotent' | 'deprecated' | ErrorCode;

type Header = [description: string, example: string | number, schema?: object];

/** Describes a header. @param schema adds to the type of the example */
function header(description: string, example: string | number, schema?: object): HeaderObject {
  const type = typeof example === 'string' ? { type: 'string' } : { type: 'integer', minimum: 0 };
  return { description, schema: { ...type, ...schema }, example };
}

const always = (...all: Header) => ({ on: ['always'], required: true, ...header(...all) });
const onReads = (...all: Header) => ({ on: ['read'], required: true, ...header(...all) });
const on = (occasions: Occasion[], ...all: Header) => ({ on: occasions, ...header(...all) });

const RESPONSE_HEADERS = {
  'X-Request-Id': always('Identifies the request in the logs of the service.', UUID),
  'X-Content-Type-Options': always('Browsers must use the declared media type.', 'nosniff'),
  'Cache-Control': always('Without an ETag, caches do not store it.', 'private, no-cache'),
  'X-RateLimit-Limit': always('The limit of the window that rejects or is closest to it.', 60),
  'X-RateLimit-Remaining': always('The remaining requests in this window.', 59),
  'X-RateLimit-Reset': always('When it ends, in Unix seconds.', 1795132860, { format: 'int64' }),
  'RateLimit-Policy': always(
    'The quota `q` and the length `w` in seconds of each window (draft-ietf-httpapi-ratelimit-headers).',
    '"minute";q=60;w=60, "day";q=1000;w=86400',
  ),
  RateLimit: always(
    'The remaining requests `r` of each window and the seconds `t` until it ends (draft-ietf-httpapi-ratelimit-headers).',
    '"minute";r=59;t=60, "day";r=999;t=86400',
  ),
  ETag: onReads('Identifies this representation (RFC 9110). Send it as If-None-Match.', ENTITY_TAG),
  Vary: onReads('The request headers that the response depends on.', 'Authorization'),
  'Idempotent-Replayed': on(['idempotent'], 'Present if the first response is sent again.', 'true'),
  Deprecation: on(['deprecated'], 'When the operation was deprecated (RFC 9745).', '@1795132800'),
  Sunset: on(['deprecated'], 'When the operation is removed (RFC 8594).', REMOVAL),
  Link: on(
    ['page', 'deprecated'],
    'The next page (`rel="next"`), absent on the last one, or the replacement of a deprecated operation (`rel="successor-version"`). See RFC 8288.',
    '<http://127.0.0.1:3000/v1/pets?limit=20&cursor=MjA6>; rel="next"',
  ),
  'Retry-After': on(
    ['rate_limit_exceeded', 'api_key_banned', 'idempotency_key_in_progress', 'service_unavailable'],
    'How many seconds to wait, at least 1.',
    30,
    { minimum: 1 },
  ),
  'WWW-Authenticate': on(
    ['missing_api_key', 'invalid_api_key'],
    'How to authenticate (RFC 6750).',
    'Bearer realm="pets"',
  ),
  Allow: on(['method_not_allowed'], 'The methods that the path allows.', METHODS),
  'Accept-Encoding': on(
    ['unsupported_media_type'],
    'Present if the request body was compressed.',
    'identity',
  ),
};

const REQUEST_HEADERS: Readonly<Record<string, HeaderObject>> = {
  'Idempotency-Key': header(
    "Makes retries safe. For 24 hours, a request with the same key and an equal body gets the first successful response again and changes nothing. Keys belong to the API key's owner. 1 to 255 visible ASCII characters, such as a UUID, bare or as a quoted string.",
    // Postman replaces this with a new UUID for each request.
    '{{$guid}}',
    // No pattern: some generators do not escape the quotes that it would contain.
    { minLength: 1 },
  ),
  'If-None-Match': header('ETags of earlier responses, or `*`. A match gets 304.', ENTITY_TAG),
  'X-Request-Id': header('1 to 128 letters, digits, `_` and `-`.', 'adoption-4711'),
  traceparent: header(
    'W3C Trace Context. The logs of the service contain the trace id.',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  ),
};

/** The names for CORS: scripts can send and read every header of the interface. */
export const HEADER_NAMES = {
  ofRequests: ['Authorization', 'Content-Type', ...Object.keys(REQUEST_HEADERS)],
  ofResponses: Object.keys(RESPONSE_HEADERS),
};

/** The components of the interface description that `headersOn` and `requestHeaders` refer to. */
export const HEADER_COMPONENTS = {
  headers: Object.fromEntries<HeaderObject>(
    Object.entries(RESPONSE_HEADERS).map(([name, { on: _on, ...described }]) => [name, described]),
  ),
  parameters: Object.fromEntries<ParameterObject>(
    Object.entries(REQUEST_HEADERS).map(([name, described]) => [
      name,
      { name, in: 'header', ...described },
    ]),
  ),
};

/** Returns references to the headers that responses on these occasions have. */
export function headersOn(...occasions: readonly string[]): HeadersObject {
  const references = Object.entries(RESPONSE_HEADERS).flatMap(([name, declared]) =>
    declared.on.some((occasion) => occasions.includes(occasion))
      ? [[name, { $ref: `#/components/headers/${name}` }]]
      : [],
  );
  return Object.fromEntries(references) as HeadersObject;
}

/** Returns references to these request headers. */
export function requestHeaders(...names: readonly string[]): { $ref: string }[] {
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}
