import type { HeaderObject, HeadersObject, ParameterObject } from '@nestjs/swagger';

const TEXT = { type: 'string' } as const;
const ENTITY_TAG = '"mWV0aGluZyBsaWtlIHRoaXM0Mg"';
const UUID = '0b7c2f6e-5a0e-4f0e-9a55-6c1d3c1a7f42';

/** Describes a header of some of the responses that list it. */
function sometimes(description: string, example: string | number, schema = {}): HeaderObject {
  const type = typeof example === 'string' ? TEXT : { type: 'integer', minimum: 0 };
  return { description, schema: { ...type, ...schema }, example };
}

/** Describes a header of every response that lists it. */
function always(description: string, example: string | number, schema = {}): HeaderObject {
  return { required: true, ...sometimes(description, example, schema) };
}

/** The response headers, by the name of their component. */
export const RESPONSE_HEADERS = {
  'X-Request-Id': always(
    "Identifies the request in the logs of the service: the caller's value if it is valid, otherwise a generated one.",
    UUID,
    { pattern: '^[A-Za-z0-9_-]{1,128}$' },
  ),
  'X-Content-Type-Options': always('Browsers must use the declared media type.', 'nosniff', {
    enum: ['nosniff'],
  }),
  'X-RateLimit-Limit': always(
    'The limit of the window that the three X-RateLimit headers describe.',
    60,
  ),
  'X-RateLimit-Remaining': always('The remaining requests in this window.', 59),
  'X-RateLimit-Reset': always(
    'When this window ends and the limit resets, as a Unix timestamp in seconds.',
    1795132860,
    { format: 'int64' },
  ),
  'RateLimit-Policy': always(
    'The quota `q` and the length `w` in seconds of each window (draft-ietf-httpapi-ratelimit-headers).',
    '"minute";q=60;w=60, "day";q=1000;w=86400',
  ),
  RateLimit: always(
    'The remaining requests `r` of each window and the seconds `t` until it ends (draft-ietf-httpapi-ratelimit-headers).',
    '"minute";r=59;t=60, "day";r=999;t=86400',
  ),
  'Retry-After': always('How many seconds to wait before the next request, at least 1.', 30, {
    minimum: 1,
  }),
  'Cache-Control': always(
    '`private, no-cache` if the response has an ETag: a cache must revalidate it before each use. Otherwise `no-store`.',
    'private, no-cache',
    { enum: ['private, no-cache', 'no-store'] },
  ),
  ETag: always(
    'Identifies this representation (RFC 9110, section 8.8.3). Send it as If-None-Match.',
    ENTITY_TAG,
  ),
  Vary: always('The request headers that the response depends on.', 'Authorization'),
  'WWW-Authenticate': always(
    'How to authenticate (RFC 6750). Contains `error="invalid_token"` if the request had an invalid API key.',
    'Bearer realm="pets"',
  ),
  Allow: always('The methods that the path allows.', 'GET, POST, HEAD, OPTIONS'),
  'Accept-Encoding': sometimes(
    'The supported encodings of request bodies. Present if the body has a `Content-Encoding`.',
    'identity',
  ),
  'Idempotent-Replayed': sometimes(
    'Present if this is the stored response to an earlier request with the same `Idempotency-Key`.',
    'true',
    { enum: ['true'] },
  ),
  NextPageLink: sometimes(
    'The next page, with `rel="next"` (RFC 8288). Absent on the last page.',
    '<http://127.0.0.1:3000/v1/pets?limit=20&cursor=MjA6>; rel="next"',
  ),
  SuccessorLink: sometimes(
    'The replacement of the operation, with `rel="successor-version"` (RFC 5829).',
    '<http://127.0.0.1:3000/v1/pets>; rel="successor-version"',
  ),
  Deprecation: sometimes(
    'When the operation was deprecated (RFC 9745): `@` and a Unix timestamp in seconds.',
    '@1795132800',
  ),
  Sunset: sometimes('When the operation is removed (RFC 8594).', 'Thu, 05 Dec 2030 00:00:00 GMT'),
};

export type ResponseHeader = keyof typeof RESPONSE_HEADERS;

/** The headers of every response of a route that is `@Public()` and `@SkipThrottle()`. */
export const EVERY_UNLIMITED_RESPONSE = [
  'X-Request-Id',
  'X-Content-Type-Options',
  'Cache-Control',
] as const;

/** The headers of every response of every other route. */
export const EVERY_RESPONSE = [
  ...EVERY_UNLIMITED_RESPONSE,
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
] as const;

/** Returns references to the components of these response headers. */
export function responseHeaders(...names: readonly ResponseHeader[]): HeadersObject {
  return Object.fromEntries(
    names.map((name) => [headerOf(name), { $ref: `#/components/headers/${name}` }]),
  );
}

/** Describes a response header that is absent from some of the responses. */
export function optionalHeader(name: ResponseHeader): HeadersObject {
  return { [headerOf(name)]: { ...RESPONSE_HEADERS[name], required: false } };
}

function headerOf(component: ResponseHeader): string {
  return component.endsWith('Link') ? 'Link' : component;
}

const PARAMETERS = {
  'X-Request-Id': {
    description:
      'Identifies the request in the response and in the logs of the service. 1 to 128 letters, digits, `_` and `-`. The service generates a new value if the header is missing or invalid.',
    example: 'adoption-4711',
  },
  traceparent: {
    description: 'W3C Trace Context. The logs of the service contain the trace id.',
    example: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  },
  'If-None-Match': {
    description:
      'One or more ETags of earlier responses, or `*` (RFC 9110, section 13.1.2). The response is 304 if the representation still has one of them.',
    example: ENTITY_TAG,
  },
  'Idempotency-Key': {
    description:
      "Makes retries safe. For 24 hours, a request with the same key and an equal body gets the first response again and changes nothing. Keys belong to the owner and apply to all of the owner's API keys. 1 to 255 visible ASCII characters, such as a UUID. A quoted string (RFC 9651) is the same key as the bare value.",
    example: UUID,
    schema: {
      ...TEXT,
      pattern: String.raw`^(?:[!#-~][!-~]{0,254}|"(?:[!#-\[\]-~]|\\["\\]){1,255}")$`,
    },
  },
};

/** The request headers, by the name of their component. */
export const REQUEST_HEADERS: Readonly<Record<string, ParameterObject>> = Object.fromEntries(
  Object.entries(PARAMETERS).map(([name, header]) => [
    name,
    { name, in: 'header', schema: TEXT, ...header },
  ]),
);

/** Returns references to the parameters of these request headers. */
export function requestHeaders(...names: readonly (keyof typeof PARAMETERS)[]) {
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}
