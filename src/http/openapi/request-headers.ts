import type { Parameter, Reference } from './openapi-types.js';

const COMPONENTS = {
  'X-Request-Id': {
    name: 'X-Request-Id',
    in: 'header',
    description:
      "The caller's name for the request: comes back in the answer and stands in the logs of the service. 1 to 128 letters, digits, `_` and `-`; in place of anything else a new one is made.",
    schema: { type: 'string' },
    example: 'adoption-4711',
  },
  traceparent: {
    name: 'traceparent',
    in: 'header',
    description: 'W3C Trace Context: the trace id stands in the logs of the service.',
    schema: { type: 'string' },
    example: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    description:
      'The ETag of the answer that the caller has, several of them, or `*` (RFC 9110, 13.1.2): answered 304 when it is still the right one.',
    schema: { type: 'string' },
    example: '"mWV0aGluZyBsaWtlIHRoaXM0Mg"',
  },
} as const satisfies Record<string, Parameter>;

/** A header field of requests, by its name. */
export type RequestHeader = keyof typeof COMPONENTS;

export const REQUEST_HEADERS: Readonly<Record<RequestHeader, Parameter>> = COMPONENTS;

/** Returns the parameters for these fields, as references to their components. */
export function requestHeaders(...names: readonly RequestHeader[]): Reference[] {
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}
