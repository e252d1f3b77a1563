import type { HeaderObject, HeadersObject, ParameterObject } from '@nestjs/swagger';

const ENTITY_TAG = '"mWV0aGluZyBsaWtlIHRoaXM0Mg"';
const UUID = '0b7c2f6e-5a0e-4f0e-9a55-6c1d3c1a7f42';

const INT64 = { format: 'int64' };

/** Describes a header that some of the messages that list it have. */
function sometimes(description: string, example: string | number, schema = {}): HeaderObject {
  const type = typeof example === 'string' ? { type: 'string' } : { type: 'integer', minimum: 0 };
  return { description, schema: { ...type, ...schema }, example };
}

/** Describes a header that all messages that list it have. */
function always(description: string, example: string | number, schema = {}): HeaderObject {
  return { required: true, ...sometimes(description, example, schema) };
}

/** The headers of every response. */
export const EVERY_RESPONSE = {
  'X-Request-Id': always('Identifies the request in the logs of the service.', UUID),
  'X-Content-Type-Options': always('Browsers must use the declared media type.', 'nosniff'),
  'Cache-Control': always('Without an ETag, caches do not store it.', 'private, no-cache'),
  'X-RateLimit-Limit': always('The limit of the window that rejects or is closest to it.', 60),
  'X-RateLimit-Remaining': always('The remaining requests in this window.', 59),
  'X-RateLimit-Reset': always('When it ends, in Unix seconds.', 1795132860, INT64),
  'RateLimit-Policy': always(
    'The quota `q` and the length `w` in seconds of each window (draft-ietf-httpapi-ratelimit-headers).',
    '"minute";q=60;w=60, "day";q=1000;w=86400',
  ),
  RateLimit: always(
    'The remaining requests `r` of each window and the seconds `t` until it ends (draft-ietf-httpapi-ratelimit-headers).',
    '"minute";r=59;t=60, "day";r=999;t=86400',
  ),
};

export const RESPONSE_HEADERS = {
  ...EVERY_RESPONSE,
  'Retry-After': sometimes('How many seconds to wait, at least 1.', 30, { minimum: 1 }),
  ETag: always('Identifies this representation (RFC 9110). Send it as If-None-Match.', ENTITY_TAG),
  Vary: always('The request headers that the response depends on.', 'Authorization'),
  'WWW-Authenticate': sometimes('How to authenticate (RFC 6750).', 'Bearer realm="pets"'),
  Allow: sometimes('The methods that the path allows.', 'GET, POST, HEAD, OPTIONS'),
  'Accept-Encoding': sometimes('Present if the request body was compressed.', 'identity'),
  'Idempotent-Replayed': sometimes('Present if the first response is sent again.', 'true'),
  Link: sometimes(
    'The next page (`rel="next"`), absent on the last one, or the replacement of a deprecated operation (`rel="successor-version"`). See RFC 8288.',
    '<http://127.0.0.1:3000/v1/pets?limit=20&cursor=MjA6>; rel="next"',
  ),
  Deprecation: sometimes('When the operation was deprecated (RFC 9745).', '@1795132800'),
  Sunset: sometimes('When the operation is removed (RFC 8594).', 'Thu, 05 Dec 2030 00:00:00 GMT'),
};

export type ResponseHeader = keyof typeof RESPONSE_HEADERS;

/** Returns references to the components of these response headers. */
export function responseHeaders(...names: readonly ResponseHeader[]): HeadersObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

const PARAMETERS = {
  'X-Request-Id': sometimes('1 to 128 letters, digits, `_` and `-`.', 'adoption-4711'),
  traceparent: sometimes(
    'W3C Trace Context. The logs of the service contain the trace id.',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  ),
  'If-None-Match': sometimes('ETags of earlier responses, or `*`. A match gets 304.', ENTITY_TAG),
  'Idempotency-Key': sometimes(
    "Makes retries safe. For 24 hours, a request with the same key and an equal body gets the first successful response again and changes nothing. Keys belong to the API key's owner. 1 to 255 visible ASCII characters, such as a UUID, bare or as a quoted string.",
    UUID,
    { pattern: String.raw`^(?:[!#-~][!-~]{0,254}|"(?:[!#-\[\]-~]|\\["\\]){1,255}")$` },
  ),
};

/** The request headers, as parameters by their name. */
export const REQUEST_HEADERS = Object.fromEntries(
  Object.entries(PARAMETERS).map(([name, header]) => [name, { name, in: 'header', ...header }]),
) as Record<string, ParameterObject>;

/** Returns references to the parameters of these request headers. */
export function requestHeaders(...names: readonly (keyof typeof PARAMETERS)[]) {
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}
