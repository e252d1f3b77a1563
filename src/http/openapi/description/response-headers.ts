import type { Header, Headers } from './openapi-types.js';

interface HeaderComponent extends Header {
  /** The field's name, where the component is called otherwise. */
  field?: string;
}

const COMPONENTS = {
  'X-Request-Id': {
    description:
      'Identifies the request in the logs of the service: the one that was sent, if it was well-formed, else a new one.',
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
    description: 'How many requests the window allows of which the three X-RateLimit fields tell.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
    example: 60,
  },
  'X-RateLimit-Remaining': {
    description: 'How many requests are left in this window.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
    example: 59,
  },
  'X-RateLimit-Reset': {
    description: 'When this window ends and the limit resets: a Unix timestamp in seconds.',
    required: true,
    schema: { type: 'integer', format: 'int64', minimum: 0 },
    example: 1795132860,
  },
  'RateLimit-Policy': {
    description:
      'All windows with their quota `q` and length `w` in seconds (draft-ietf-httpapi-ratelimit-headers).',
    required: true,
    schema: { type: 'string' },
    example: '"minute";q=60;w=60, "day";q=1000;w=86400',
  },
  RateLimit: {
    description:
      'All windows with the remaining requests `r` and the seconds `t` until the window ends (draft-ietf-httpapi-ratelimit-headers).',
    required: true,
    schema: { type: 'string' },
    example: '"minute";r=59;t=60, "day";r=999;t=86400',
  },
  'Retry-After': {
    description: 'After how many seconds a request can succeed again, at least 1.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
    example: 30,
  },
  'Cache-Control': {
    description:
      '`private, no-cache` where the answer has an ETag: keep it, and ask before it is used again. Otherwise `no-store`.',
    required: true,
    schema: { type: 'string', enum: ['private, no-cache', 'no-store'] },
    example: 'private, no-cache',
  },
  ETag: {
    description: 'Identifies this representation (RFC 9110, 8.8.3): to be sent as If-None-Match.',
    required: true,
    schema: { type: 'string' },
    example: '"mWV0aGluZyBsaWtlIHRoaXM0Mg"',
  },
  Vary: {
    description: 'The answer depends on these fields of the request.',
    required: true,
    schema: { type: 'string' },
    example: 'Authorization',
  },
  'WWW-Authenticate': {
    description:
      'How to authenticate (RFC 6750): with `error="invalid_token"` where a key was sent that is not valid.',
    required: true,
    schema: { type: 'string' },
    example: 'Bearer realm="pets"',
  },
  Allow: {
    description: 'The methods that the path takes.',
    required: true,
    schema: { type: 'string' },
    example: 'GET, POST, HEAD, OPTIONS',
  },
  'Accept-Encoding': {
    description: 'The encodings that a request body may have, where another one was the reason.',
    schema: { type: 'string' },
    example: 'gzip, br',
  },
  'Idempotent-Replayed': {
    description:
      'Present when this is the first answer to an earlier request with the same `Idempotency-Key`: nothing was done anew.',
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
  NextPageLink: {
    field: 'Link',
    description: 'The next page, with `rel="next"` (RFC 8288). Absent on the last page.',
    schema: { type: 'string' },
    example: '</v1/pets?limit=20&cursor=MjA6>; rel="next"',
  },
  SuccessorLink: {
    field: 'Link',
    description: 'What replaces the operation, with `rel="successor-version"` (RFC 5829).',
    schema: { type: 'string' },
    example: '</v1/pets>; rel="successor-version"',
  },
  Deprecation: {
    description:
      'Since when the operation is deprecated (RFC 9745): `@` and a Unix timestamp in seconds.',
    schema: { type: 'string' },
    example: '@1795132800',
  },
  Sunset: {
    description: 'When the operation is removed (RFC 8594).',
    schema: { type: 'string' },
    example: 'Thu, 05 Dec 2030 00:00:00 GMT',
  },
} as const satisfies Record<string, HeaderComponent>;

/** A header field's description, by the name of its component. */
export type ResponseHeader = keyof typeof COMPONENTS;

/** What the service sets on every answer under the version's path. */
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

/** Returns the `headers` of a response that carries these, as references to their components. */
export function responseHeaders(...names: readonly ResponseHeader[]): Headers {
  const entries = names.map(
    (name) => [fieldOf(name), { $ref: `#/components/headers/${name}` }] as const,
  );
  return Object.fromEntries(entries);
}

/** Returns the components of those headers that a document refers to. @param documentText as JSON */
export function headerComponents(documentText: string): Record<string, Header> {
  const used = Object.entries<HeaderComponent>(COMPONENTS).filter(([name]) =>
    documentText.includes(`"#/components/headers/${name}"`),
  );
  return Object.fromEntries(used.map(([name, { field: _field, ...header }]) => [name, header]));
}

function fieldOf(name: ResponseHeader): string {
  const component: HeaderComponent = COMPONENTS[name];
  return component.field ?? name;
}
