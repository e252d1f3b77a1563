import type { HeadersObject, ResponseObject, SchemaObject } from '@nestjs/swagger';
import { MAX_BODY_BYTES } from '../../../config/bounds.js';
import { ERROR_CODES, ERRORS, type ErrorCode, isGeneric } from '../../../errors/catalogue.js';
import { PUBLIC_MESSAGES } from '../../../errors/public-messages.js';
import { type ResponseHeader, responseHeaders } from './headers.js';

/** An example message for each of some error codes. */
export type ErrorExamples = Partial<Record<ErrorCode, string>>;

/** The errors of every operation. */
export const EVERY_OPERATION: ErrorExamples = {
  request_timeout: PUBLIC_MESSAGES.requestTimeout,
  headers_too_large: PUBLIC_MESSAGES.headersTooLarge,
  internal_error: PUBLIC_MESSAGES.internalError,
  service_unavailable: PUBLIC_MESSAGES.databaseUnavailable,
  rate_limit_exceeded: PUBLIC_MESSAGES.rateLimitExceeded(30),
  api_key_banned: PUBLIC_MESSAGES.apiKeyBanned(300),
};

/** The additional errors of an operation that is not `@Public()`. */
export const AUTHENTICATED_OPERATION: ErrorExamples = {
  missing_api_key: PUBLIC_MESSAGES.missingApiKey,
  invalid_api_key: PUBLIC_MESSAGES.invalidApiKey,
};

/** The additional errors of an operation with a body. */
export const OPERATION_WITH_BODY: ErrorExamples = {
  invalid_request: ERRORS.invalid_request.when,
  malformed_json: PUBLIC_MESSAGES.malformedJson('cannot be parsed'),
  payload_too_large: PUBLIC_MESSAGES.payloadTooLarge(MAX_BODY_BYTES),
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

/** Groups errors by their HTTP status, and adds those of a path or method that no operation has. */
export function byStatus(messages: ErrorExamples): Map<string, ErrorExamples> {
  const { routeNotFound: route_not_found, methodNotAllowed, unsupportedExpect } = PUBLIC_MESSAGES;
  const method_not_allowed = methodNotAllowed('GET, POST, HEAD, OPTIONS');
  const groups = new Map<string, ErrorExamples>([
    ['417', { invalid_request: unsupportedExpect }],
    ['default', { route_not_found, method_not_allowed }],
  ]);
  for (const code of ERROR_CODES.filter((each) => messages[each] !== undefined)) {
    const status = String(ERRORS[code].status);
    groups.set(status, { ...groups.get(status), [code]: messages[code] });
  }
  return groups;
}

/** Describes an error response: the headers of every response, and an example for each code. */
export function errorResponse(
  status: string,
  messages: ErrorExamples,
  headers: HeadersObject,
): ResponseObject {
  const codes = Object.keys(messages) as ErrorCode[];
  const examples = codes.map((code) => {
    const message = messages[code] ?? '';
    const value = { code, message, status: Number(status) || ERRORS[code].status };
    const usesMessage = isGeneric(code) || status === '417';
    return [code, { summary: usesMessage ? message : ERRORS[code].when, value }] as const;
  });
  const names = codes.flatMap((code) => HEADER_OF_CODE[code] ?? []);
  return {
    description: examples.map(([, { summary }]) => summary).join(' Or: '),
    headers: { ...headers, ...responseHeaders(...names) },
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(examples),
      },
    },
  };
}

/** Describes the body of every error response. @param codes the values of its `code` */
export function errorSchema(codes: readonly ErrorCode[]): SchemaObject {
  const example = { code: 'route_not_found', message: PUBLIC_MESSAGES.routeNotFound, status: 404 };
  return {
    type: 'object',
    description: 'The body of every error response. It has exactly these three fields.',
    properties: {
      code: { type: 'string', enum: [...codes], description: 'For programs. The set is closed.' },
      message: { type: 'string', description: 'For people. The wording can change.' },
      status: { type: 'integer', minimum: 400, maximum: 599, description: 'The HTTP status.' },
    },
    required: Object.keys(example),
    additionalProperties: false,
    example,
  };
}
