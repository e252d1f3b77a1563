import type { HeadersObject, ReferenceObject, ResponseObject, SchemaObject } from '@nestjs/swagger';
import { STATUS_CODES } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { ERROR_CODES, ERRORS, type ErrorCode, isGeneric } from '../../../errors/catalogue.js';
import { PUBLIC_MESSAGES } from '../../../errors/public-messages.js';
import { EVERY_RESPONSE, optionalHeader, type ResponseHeader, responseHeaders } from './headers.js';

/** An example message for each of some error codes. */
export type ErrorExamples = Partial<Record<ErrorCode, string>>;

/** The errors of every operation. */
export const EVERY_OPERATION: ErrorExamples = {
  request_timeout: PUBLIC_MESSAGES.requestTimeout,
  headers_too_large: PUBLIC_MESSAGES.headersTooLarge,
  internal_error: PUBLIC_MESSAGES.internalError,
  service_unavailable: PUBLIC_MESSAGES.databaseUnavailable,
};

/** The additional errors of an operation that is not `@Public()`. */
export const AUTHENTICATED_OPERATION: ErrorExamples = {
  missing_api_key: PUBLIC_MESSAGES.missingApiKey,
  invalid_api_key: PUBLIC_MESSAGES.invalidApiKey,
};

/** The additional errors of an operation whose requests are counted. */
export const LIMITED_OPERATION: ErrorExamples = {
  rate_limit_exceeded: PUBLIC_MESSAGES.rateLimitExceeded(30),
  api_key_banned: PUBLIC_MESSAGES.apiKeyBanned(300),
};

/** The additional errors of an operation with a body. */
export const OPERATION_WITH_BODY: ErrorExamples = {
  invalid_request: ERRORS.invalid_request.when,
  malformed_json: PUBLIC_MESSAGES.malformedJson('cannot be parsed'),
  payload_too_large: PUBLIC_MESSAGES.payloadTooLarge,
  unsupported_media_type: PUBLIC_MESSAGES.unsupportedContentType,
};

/** Headers that errors have in addition to those of every response. */
const HEADER_OF_CODE: Partial<Record<ErrorCode, ResponseHeader>> = {
  missing_api_key: 'WWW-Authenticate',
  invalid_api_key: 'WWW-Authenticate',
  method_not_allowed: 'Allow',
  idempotency_key_in_progress: 'Retry-After',
  unsupported_media_type: 'Accept-Encoding',
  rate_limit_exceeded: 'Retry-After',
  api_key_banned: 'Retry-After',
  service_unavailable: 'Retry-After',
};

/**
 * Describes an error response, with an example for each code. Without `status`, each example has
 * the status of its code. `headers` are those of every response of the operation.
 */
export function errorResponse(
  status: number | undefined,
  messages: ErrorExamples,
  headers: readonly ResponseHeader[] = EVERY_RESPONSE,
): ResponseObject {
  const codes = Object.keys(messages) as ErrorCode[];
  const examples = codes.map((code) => {
    const message = messages[code] ?? '';
    const value = { code, message, status: status ?? ERRORS[code].status };
    // The message of a generic code says more than its description.
    return [code, { summary: isGeneric(code) ? message : ERRORS[code].when, value }] as const;
  });
  return {
    description: oneOf(examples.map(([, { summary }]) => summary)),
    headers: { ...responseHeaders(...headers), ...headersOf(codes) },
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(examples),
      },
    },
  };
}

/** Returns the headers of the codes. A header that not every code has is optional. */
function headersOf(codes: readonly ErrorCode[]): HeadersObject {
  const names = codes.map((code) => HEADER_OF_CODE[code]);
  const headers = [...new Set(names)].map((name) => {
    if (name === undefined) return {};
    return names.every((other) => other === name) ? responseHeaders(name) : optionalHeader(name);
  });
  return Object.assign({}, ...headers) as HeadersObject;
}

/** Joins sentences to one: "No route matches the path, or the path does not allow the method." */
function oneOf([first = '', ...others]: readonly string[]): string {
  return others.reduce(
    (text, other) =>
      `${text.replace(/\.$/, '')}, or ${other.charAt(0).toLowerCase()}${other.slice(1)}`,
    first,
  );
}

/** Groups the codes by their HTTP status, in the order of the catalogue. */
export function byStatus(messages: ErrorExamples): Map<number, ErrorExamples> {
  const groups = new Map<number, ErrorExamples>();
  for (const code of ERROR_CODES) {
    if (messages[code] === undefined) continue;
    const { status } = ERRORS[code];
    groups.set(status, { ...groups.get(status), [code]: messages[code] });
  }
  return groups;
}

/** The responses that operations share, by the name of their component. */
export const SHARED_RESPONSES: Readonly<Record<string, ResponseObject>> = {
  ...Object.fromEntries(
    [
      ...byStatus({
        ...EVERY_OPERATION,
        ...AUTHENTICATED_OPERATION,
        ...LIMITED_OPERATION,
        ...OPERATION_WITH_BODY,
      }),
    ].map(([status, messages]) => [
      (STATUS_CODES[status] ?? '').replaceAll(' ', ''),
      errorResponse(status, messages),
    ]),
  ),
  ExpectationFailed: {
    ...errorResponse(417, { invalid_request: PUBLIC_MESSAGES.unsupportedExpect }),
    description: 'The request has an `Expect` header other than `100-continue`.',
  },
  NoSuchOperation: errorResponse(undefined, {
    route_not_found: PUBLIC_MESSAGES.routeNotFound,
    method_not_allowed: PUBLIC_MESSAGES.methodNotAllowed('GET, POST, HEAD, OPTIONS'),
  }),
};

/** Returns a reference to the shared response that equals a response, otherwise the response. */
export function shared(response: ResponseObject): ResponseObject | ReferenceObject {
  const name = Object.keys(SHARED_RESPONSES).find((component) =>
    isDeepStrictEqual(SHARED_RESPONSES[component], response),
  );
  return name === undefined ? response : { $ref: `#/components/responses/${name}` };
}

/** Describes the body of every error response. @param codes the values of its `code` */
export function errorSchema(codes: readonly ErrorCode[]): SchemaObject {
  const example = { code: 'route_not_found', message: PUBLIC_MESSAGES.routeNotFound, status: 404 };
  return {
    type: 'object',
    description: 'The body of every error response. It has exactly these three fields.',
    properties: {
      code: {
        description: 'The kind of error, for programs. The set of codes is closed.',
        type: 'string',
        enum: [...codes],
      },
      message: {
        description: 'An explanation for people. The wording can change.',
        type: 'string',
      },
      status: {
        description: 'The HTTP status of the response.',
        type: 'integer',
        minimum: 400,
        maximum: 599,
      },
    },
    required: Object.keys(example),
    additionalProperties: false,
    example,
  };
}
