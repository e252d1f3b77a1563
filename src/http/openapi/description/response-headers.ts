import type { Header, Headers } from './openapi-types.js';

interface HeaderComponent extends Header {
  /** The header's name, if the component has another name. */
  header?: string;
}

const COMPONENTS = {
  'X-Request-Id': {
    description:
      "Identifies the request in the logs of the service: the caller's value if it is valid, otherwise a generated one.",
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,128}$' },
    example: '0b7c2f6e-5a0e-4f0e-9a55-6c1d3c1a7f42',
  },
  'X-Content-Type-Options': {
    description: 'Browsers must use the declared media type.',
    required: true,
    schema: { type: 'string', enum: ['nosniff'] },
    example: 'nosniff',
  },
  'X-RateLimit-Limit': {
    description: 'The limit of the window that the three X-RateLimit headers describe.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
    example: 60,
  },
  'X-RateLimit-Remaining': {
    description: 'The remaining requests in this window.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
    example: 59,
  },
  'X-RateLimit-Reset': {
    description: 'When this window ends and the limit resets, as a Unix timestamp in seconds.',
    required: true,
    schema: { type: 'integer', format: 'int64', minimum: 0 },
    example: 1795132860,
  },
  'RateLimit-Policy': {
    description:
      'The quota `q` and the length `w` in seconds of each window (draft-ietf-httpapi-ratelimit-headers).',
    required: true,
    schema: { type: 'string' },
    example: '"minute";q=60;w=60, "day";q=1000;w=86400',
  },
  RateLimit: {
    description:
      'The remaining requests `r` of each window and the seconds `t` until it ends (draft-ietf-httpapi-ratelimit-headers).',
    required: true,
    schema: { type: 'string' },
    example: '"minute";r=59;t=60, "day";r=999;t=86400',
  },
  'Retry-After': {
    description: 'How many seconds to wait before the next request, at least 1.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
    example: 30,
  },
  'Cache-Control': {
    description:
      '`private, no-cache` if the response has an ETag: a cache must revalidate it before each use. Otherwise `no-store`.',
    required: true,
    schema: { type: 'string', enum: ['private, no-cache', 'no-store'] },
    example: 'private, no-cache',
  },
  ETag: {
    description:
      'Identifies this representation (RFC 9110, section 8.8.3). Send it as If-None-Match.',
    required: true,
    schema: { type: 'string' },
    example: '"mWV0aGluZyBsaWtlIHRoaXM0Mg"',
  },
  Vary: {
    description: 'The request headers that the response depends on.',
    required: true,
    schema: { type: 'string' },
    example: 'Authorization',
  },
  'WWW-Authenticate': {
    description:
      'How to authenticate (RFC 6750). Contains `error="invalid_token"` if the request had an invalid API key.',
    required: true,
    schema: { type: 'string' },
    example: 'Bearer realm="pets"',
  },
  Allow: {
    description: 'The methods that the path allows.',
    required: true,
    schema: { type: 'string' },
    example: 'GET, POST, HEAD, OPTIONS',
  },
  'Accept-Encoding': {
    description:
      'The supported encodings of request bodies. Present if the encoding of the request is not supported.',
    schema: { type: 'string' },
    example: 'gzip, br',
  },
  'Idempotent-Replayed': {
    description:
      'Present if this is the stored response to an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
  NextPageLink: {
    header: 'Link',
    description: 'The next page, with `rel="next"` (RFC 8288). Absent on the last page.',
    schema: { type: 'string' },
    example: '</v1/pets?limit=20&cursor=MjA6>; rel="next"',
  },
  SuccessorLink: {
    header: 'Link',
    description: 'The replacement of the operation, with `rel="successor-version"` (RFC 5829).',
    schema: { type: 'string' },
    example: '</v1/pets>; rel="successor-version"',
  },
  Deprecation: {
    description:
      'When the operation was deprecated (RFC 9745): `@` and a Unix timestamp in seconds.',
    schema: { type: 'string' },
    example: '@1795132800',
  },
  Sunset: {
    description: 'When the operation is removed (RFC 8594).',
    schema: { type: 'string' },
    example: 'Thu, 05 Dec 2030 00:00:00 GMT',
  },
} as const satisfies Record<string, HeaderComponent>;

export type ResponseHeader = keyof typeof COMPONENTS;

/** The headers of every response under the version's path. */
export const EVERY_RESPONSE: readonly ResponseHeader[] = [
  'X-Request-Id',
  'X-Content-Type-Options',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
  'Cache-Control',
];

/** Returns references to the components of these headers. */
export function responseHeaders(...names: readonly ResponseHeader[]): Headers {
  const entries = names.map(
    (name) => [headerOf(name), { $ref: `#/components/headers/${name}` }] as const,
  );
  return Object.fromEntries(entries);
}

/** Returns the header components that a document refers to. @param documentText as JSON */
export function headerComponents(documentText: string): Record<string, Header> {
  const used = Object.entries<HeaderComponent>(COMPONENTS).filter(([name]) =>
    documentText.includes(`"#/components/headers/${name}"`),
  );
  return Object.fromEntries(used.map(([name, { header: _name, ...header }]) => [name, header]));
}

function headerOf(name: ResponseHeader): string {
  const component: HeaderComponent = COMPONENTS[name];
  return component.header ?? name;
}
