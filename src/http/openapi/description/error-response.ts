import { getSchemaPath } from '@nestjs/swagger';
import { ERROR_STATUS, type ErrorCode } from '../../../errors/catalogue.js';
import { ErrorBody } from '../error.dto.js';
import { ERROR_DESCRIPTIONS } from './error-descriptions.js';
import type { Response } from './openapi-types.js';
import { EVERY_RESPONSE, responseHeaders, type ResponseHeader } from './response-headers.js';

/** Codes and, for each, a message as it is answered. */
export type ErrorExamples = Partial<Record<ErrorCode, string>>;

/** What failures of a status carry beside what every answer does. */
const HEADERS_OF_STATUS: Readonly<Record<number, readonly ResponseHeader[]>> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  409: ['Retry-After'],
  415: ['Accept-Encoding'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** Returns the description of a failure, with an example for each of its codes. */
export function errorResponse(status: number, messages: ErrorExamples): Response {
  const examples = Object.entries(messages) as [ErrorCode, string][];
  return {
    description: examples.map(([code]) => ERROR_DESCRIPTIONS[code]).join(' '),
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

/** Returns the codes by the status that each is answered with. */
export function byStatus(messages: ErrorExamples): Map<number, ErrorExamples> {
  const groups = new Map<number, ErrorExamples>();
  for (const [code, message] of Object.entries(messages) as [ErrorCode, string][]) {
    const status = ERROR_STATUS[code];
    groups.set(status, { ...groups.get(status), [code]: message });
  }
  return groups;
}
