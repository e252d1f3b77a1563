import type { ResponseObject, SchemaObject } from '@nestjs/swagger';
import { MAX_BODY_BYTES } from '../../../config/bounds.js';
import {
  ERROR_CODES,
  ERRORS,
  type ErrorCode,
  type FeatureError,
  isGeneric,
} from '../../../errors/catalogue.js';
import { PUBLIC_MESSAGES } from '../../../errors/public-messages.js';
import { headersOn } from '../../request/headers.js';

/** The default of MAX_UPLOAD_MEBIBYTES, for an example. */
const DEFAULT_UPLOAD_BYTES = 10 * 2 ** 20;

/** An example message for each of some error codes. */
export type ErrorExamples = Partial<Record<ErrorCode, string>>;

/** An error of an operation. */
export interface DescribedError extends FeatureError {
  /** An example. */
  readonly message: string;
}

/** Returns the errors that codes of the catalogue stand for. */
export function describedErrors(examples: ErrorExamples): DescribedError[] {
  const entries = Object.entries(examples) as [ErrorCode, string][];
  return entries.map(([code, message]) => ({ code, ...ERRORS[code], message }));
}

const EVERY_OPERATION = describedErrors({
  request_timeout: PUBLIC_MESSAGES.requestTimeout,
  rate_limit_exceeded: PUBLIC_MESSAGES.rateLimitExceeded(30),
  api_key_banned: PUBLIC_MESSAGES.apiKeyBanned(300),
  headers_too_large: PUBLIC_MESSAGES.headersTooLarge,
  internal_error: PUBLIC_MESSAGES.internalError,
  service_unavailable: PUBLIC_MESSAGES.databaseUnavailable,
});

const AUTHENTICATED_OPERATION = describedErrors({
  missing_api_key: PUBLIC_MESSAGES.missingApiKey,
  invalid_api_key: PUBLIC_MESSAGES.invalidApiKey,
});

const OPERATION_WITH_INPUT = describedErrors({ invalid_request: ERRORS.invalid_request.when });

const OPERATION_WITH_BODY = {
  json: describedErrors({
    malformed_json: PUBLIC_MESSAGES.malformedJson('cannot be parsed'),
    payload_too_large: PUBLIC_MESSAGES.payloadTooLarge(MAX_BODY_BYTES),
    unsupported_media_type: PUBLIC_MESSAGES.unsupportedContentType,
  }),
  upload: describedErrors({
    payload_too_large: PUBLIC_MESSAGES.payloadTooLarge(DEFAULT_UPLOAD_BYTES),
    unsupported_media_type: PUBLIC_MESSAGES.unsupportedUploadType,
  }),
};

const UNSUPPORTED_EXPECT = {
  code: 'invalid_request',
  status: 417,
  when: PUBLIC_MESSAGES.unsupportedExpect,
  message: PUBLIC_MESSAGES.unsupportedExpect,
};

const NO_OPERATION = describedErrors({
  route_not_found: PUBLIC_MESSAGES.routeNotFound,
  method_not_allowed: PUBLIC_MESSAGES.methodNotAllowed('GET, POST, HEAD, OPTIONS'),
});

/**
 * Returns the errors of an operation by the status of their response, and those of a path or method
 * that no operation has as the default.
 *
 * @param own the errors that the operation declares; they replace others
 */
export function errorsByStatus(
  operation: { isPublic: boolean; hasInput: boolean; body: 'json' | 'upload' | undefined },
  own: readonly DescribedError[],
): Map<string, DescribedError[]> {
  const general = [
    UNSUPPORTED_EXPECT,
    ...EVERY_OPERATION,
    ...(operation.isPublic ? [] : AUTHENTICATED_OPERATION),
    ...(operation.hasInput ? OPERATION_WITH_INPUT : []),
    ...(operation.body ? OPERATION_WITH_BODY[operation.body] : []),
  ];
  const isReplaced = ({ status, code }: DescribedError): boolean =>
    own.some((error) => error.status === status && error.code === code);
  const errors = [...general.filter((each) => !isReplaced(each)), ...own];
  const byStatus = new Map([['default', NO_OPERATION]]);
  for (const error of errors.sort((a, b) => rankOf(a) - rankOf(b))) {
    const status = String(error.status);
    byStatus.set(status, [...(byStatus.get(status) ?? []), error]);
  }
  return byStatus;
}

/** Returns the position in the catalogue. The errors of features come first. */
function rankOf({ code }: DescribedError): number {
  return ERROR_CODES.indexOf(code as ErrorCode);
}

/** Describes an error response, with an example for each message. Its name is the code. */
export function errorResponse(
  errors: readonly DescribedError[],
  headers: ResponseObject['headers'],
): ResponseObject {
  const examples = errors.map(({ code, message, status, when }, index) => {
    const summary = isGeneric(code) ? message : when;
    const isFirst = index === errors.findIndex((error) => error.code === code);
    const name = isFirst ? code : `${code}_${index + 1}`;
    return [name, { summary, value: { code, message, status } }] as const;
  });
  return {
    description: examples.map(([, { summary }]) => summary).join(' Or: '),
    headers: { ...headers, ...headersOn(...errors.map(({ code }) => code)) },
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(examples),
      },
    },
  };
}

/** Returns the errors of the service and those that operations have, in the order of their status. */
export function publishedErrors(ofOperations: readonly DescribedError[]): FeatureError[] {
  const ofService = ERROR_CODES.filter((code) => !isGeneric(code));
  const all = [...ofService.map((code) => ({ code, ...ERRORS[code] })), ...ofOperations];
  const unique = all.filter(
    ({ code }, index) => index === all.findIndex((each) => each.code === code),
  );
  return unique.sort((a, b) => a.status - b.status);
}

/** Describes the body of every error response. @param errors those that it can contain */
export function errorSchema(errors: readonly FeatureError[]): SchemaObject {
  const example = { code: 'route_not_found', message: PUBLIC_MESSAGES.routeNotFound, status: 404 };
  return {
    type: 'object',
    description: 'The body of every error response. It has exactly these three fields.',
    properties: {
      code: {
        type: 'string',
        enum: errors.map(({ code }) => code),
        description: 'For programs. The set is closed.',
      },
      message: { type: 'string', description: 'For people. The wording can change.' },
      status: { type: 'integer', minimum: 400, maximum: 599, description: 'The HTTP status.' },
    },
    required: Object.keys(example),
    additionalProperties: false,
    example,
  };
}
