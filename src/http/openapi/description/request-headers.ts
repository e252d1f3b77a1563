import type { Parameter, Reference } from './openapi-types.js';

const COMPONENTS = {
  'X-Request-Id': {
    name: 'X-Request-Id',
    in: 'header',
    description:
      'Identifies the request in the response and in the logs of the service. 1 to 128 letters, digits, `_` and `-`. The service generates a new value if the header is missing or invalid.',
    schema: { type: 'string' },
    example: 'adoption-4711',
  },
  traceparent: {
    name: 'traceparent',
    in: 'header',
    description: 'W3C Trace Context. The logs of the service contain the trace id.',
    schema: { type: 'string' },
    example: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    description:
      'One or more ETags of earlier responses, or `*` (RFC 9110, section 13.1.2). The response is 304 if the representation still has one of them.',
    schema: { type: 'string' },
    example: '"mWV0aGluZyBsaWtlIHRoaXM0Mg"',
  },
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      "Makes retries safe. For 24 hours, a request with the same key and an equal body gets the first response again and changes nothing. Keys belong to the owner and apply to all of the owner's API keys. 1 to 255 visible ASCII characters, such as a UUID. A quoted string (RFC 9651) is the same key as the bare value.",
    schema: {
      type: 'string',
      pattern: String.raw`^(?:[!#-~][!-~]{0,254}|"(?:[!#-\[\]-~]|\\["\\]){1,255}")$`,
    },
    example: '0b7c2f6e-5a0e-4f0e-9a55-6c1d3c1a7f42',
  },
} as const satisfies Record<string, Parameter>;

type RequestHeader = keyof typeof COMPONENTS;

export const REQUEST_HEADERS: Readonly<Record<RequestHeader, Parameter>> = COMPONENTS;

/** Returns references to the parameters of these headers. */
export function requestHeaders(...names: readonly RequestHeader[]): Reference[] {
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}
