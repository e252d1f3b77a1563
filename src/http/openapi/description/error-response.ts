import { getSchemaPath } from '@nestjs/swagger';
import { ERROR_STATUS, type ErrorCode } from '../../../errors/catalogue.js';
import { ErrorBody } from '../error.dto.js';
import type { Response } from './openapi-types.js';
import { EVERY_RESPONSE, responseHeaders, type ResponseHeader } from './response-headers.js';

/** When the service sends each error code. */
export const ERROR_DESCRIPTIONS: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'A parameter, header or field is missing or invalid.',
  malformed_json: 'The body is not JSON in UTF-8.',
  invalid_cursor: 'The cursor is malformed or belongs to a list with different filters.',
  missing_api_key: 'The request has no API key.',
  invalid_api_key: 'The API key is malformed, unknown, expired or revoked.',
  pet_not_found: 'No animal has this identifier.',
  route_not_found: 'No route matches the path.',
  method_not_allowed: 'The path does not allow the method.',
  request_timeout: 'The request did not arrive in time.',
  idempotency_key_in_progress: 'The first request with this idempotency key is still in progress.',
  endpoint_removed: 'The operation was removed.',
  payload_too_large: 'The body is larger than 102,400 bytes, as sent or decompressed.',
  unsupported_media_type:
    'The body is not `application/json` in UTF-8, or its encoding is not gzip or br.',
  idempotency_key_reused: 'The idempotency key was already used with a different body.',
  rate_limit_exceeded: 'The request is over the rate limit.',
  api_key_banned: 'The API key is temporarily banned after too many rejected requests.',
  headers_too_large: 'The request headers are too large.',
  internal_error: 'The service failed.',
  service_unavailable: 'The database is unavailable, or the service is overloaded.',
};

/** An example message for each of some error codes. */
export type ErrorExamples = Partial<Record<ErrorCode, string>>;

/** Headers that errors with a status have in addition to those of every response. */
const HEADERS_OF_STATUS: Readonly<Record<number, readonly ResponseHeader[]>> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  409: ['Retry-After'],
  415: ['Accept-Encoding'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** Returns the description of an error response, with an example for each code. */
export function errorResponse(status: number, messages: ErrorExamples): Response {
  const examples = Object.entries(messages) as [ErrorCode, string][];
  return {
    description: oneOf(examples.map(([code]) => ERROR_DESCRIPTIONS[code])),
    headers: responseHeaders(...EVERY_RESPONSE, ...(HEADERS_OF_STATUS[status] ?? [])),
    content: {
      'application/json': {
        schema: { $ref: getSchemaPath(ErrorBody) },
        examples: Object.fromEntries(
          examples.map(([code, message]) => [
            code,
            { summary: ERROR_DESCRIPTIONS[code], value: { code, message, status } },
          ]),
        ),
      },
    },
  };
}

/** Joins sentences to one: "No route matches the path, or the path does not allow the method." */
function oneOf([first = '', ...others]: readonly string[]): string {
  return others.reduce(
    (text, other) => `${text.slice(0, -1)}, or ${other.charAt(0).toLowerCase()}${other.slice(1)}`,
    first,
  );
}

/** Groups the codes by their HTTP status. */
export function byStatus(messages: ErrorExamples): Map<number, ErrorExamples> {
  const groups = new Map<number, ErrorExamples>();
  for (const [code, message] of Object.entries(messages) as [ErrorCode, string][]) {
    const status = ERROR_STATUS[code];
    groups.set(status, { ...groups.get(status), [code]: message });
  }
  return groups;
}
