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
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      "Makes a retry safe: with the same key and an equal body it gets the first answer again, for 24 hours, and nothing is done twice. Keys are the owner's, over all API keys. 1 to 255 visible ASCII characters, such as a UUID, bare or as a quoted string (RFC 9651), which is the same key.",
    schema: {
      type: 'string',
      pattern: String.raw`^(?:[!#-~][!-~]{0,254}|"(?:[!#-\[\]-~]|\\["\\]){1,255}")$`,
    },
    example: '0b7c2f6e-5a0e-4f0e-9a55-6c1d3c1a7f42',
  },
} as const satisfies Record<string, Parameter>;

/** A header field of requests, by its name. */
export type RequestHeader = keyof typeof COMPONENTS;

export const REQUEST_HEADERS: Readonly<Record<RequestHeader, Parameter>> = COMPONENTS;

/** Returns the parameters for these fields, as references to their components. */
export function requestHeaders(...names: readonly RequestHeader[]): Reference[] {
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}
