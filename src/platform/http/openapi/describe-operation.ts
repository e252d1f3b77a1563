import { STATUS_CODES } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import type { OperationObject, ParameterObject, ResponseObject } from '@nestjs/swagger';
import { codeOfStatus } from '../../errors/catalogue.js';
import { headersOn, REQUEST_HEADERS } from '../request/headers.js';
import { errorExample } from './api.decorators.js';

type ErrorExample = ReturnType<typeof errorExample>;

const EVERY_OPERATION = [
  ...['invalid_request', 'request_timeout', 'rate_limit_exceeded', 'api_key_banned'],
  ...['headers_too_large', 'internal_error', 'service_unavailable'],
];
const UNKNOWN_EXPECT = { code: 'invalid_request', message: 'Unknown `Expect`.', status: 417 };
/** The guard of `@Deprecated()` has set its headers before a response with one of these statuses. */
const AFTER_DEPRECATION = [200, 201, 204, 304, 404, 410, 500, 503];

/**
 * Returns the operation with what every operation has: headers, 304 for reads, and the errors of the
 * guards and the server. Adds responses that operations share, by name, to `shared`.
 */
export function describeOperation(
  method: string,
  operation: OperationObject,
  shared: Record<string, ResponseObject>,
): OperationObject {
  const parameters = (operation.parameters ?? []) as ParameterObject[];
  const { security = [] } = operation;
  const { content } = (operation.requestBody ?? {}) as { content?: object };
  const isRead = method === 'get';
  const isDeprecated = 'x-sunset' in operation;
  const isIdempotent = parameters.some(({ name }) => name === REQUEST_HEADERS.idempotencyKey.name);
  const isPublic = security.some((scheme) => Object.keys(scheme).length === 0);
  const codes = [
    ...EVERY_OPERATION,
    ...(isPublic ? [] : ['missing_api_key', 'invalid_api_key']),
    ...(content ? ['payload_too_large'] : []),
    ...(content && 'application/json' in content
      ? ['malformed_json', 'unsupported_media_type']
      : []),
    ...(isIdempotent ? ['idempotency_key_in_progress', 'idempotency_key_reused'] : []),
    ...(isDeprecated ? ['endpoint_removed'] : []),
  ];
  const errors = [...codes.map((code) => errorExample(code)), UNKNOWN_EXPECT];
  const occasionsOf = (status: number, ...occasions: string[]): string[] =>
    isDeprecated && AFTER_DEPRECATION.includes(status) ? ['deprecated', ...occasions] : occasions;

  const responses: OperationObject['responses'] = {
    default: { $ref: '#/components/responses/NoSuchOperation' },
  };
  const ofFeature = operation.responses as Record<string, ResponseObject>;
  for (const [name, declared] of Object.entries(ofFeature)) {
    const status = Number(name);
    if (status >= 400) errors.push(...declaredErrors(status, declared));
    else {
      const kind = isRead ? 'read' : isIdempotent ? 'idempotent' : '';
      const headers = { ...headersOn(...occasionsOf(status, 'always', kind)), ...declared.headers };
      responses[name] = { ...declared, headers };
      if (isRead && status === 200) responses[304] = { description: 'Not changed.', headers };
    }
  }
  for (const status of new Set(errors.map((error) => error.status))) {
    const ofStatus = errors.filter((error) => error.status === status);
    const response = errorResponse(ofStatus, ...occasionsOf(status));
    const name = STATUS_CODES[status]?.replaceAll(' ', '') ?? String(status);
    shared[name] ??= response;
    const isShared = isDeepStrictEqual(shared[name], response);
    responses[status] = isShared ? { $ref: `#/components/responses/${name}` } : response;
  }
  return {
    ...operation,
    ...(isDeprecated && { deprecated: true }),
    parameters: [...parameters, ...(isRead ? [REQUEST_HEADERS.ifNoneMatch] : [])],
    responses,
  };
}

/** Returns the errors that `@ApiErrors()` or a decorator of @nestjs/swagger declares. */
function declaredErrors(status: number, { content, description }: ResponseObject): ErrorExample[] {
  const examples = Object.values(content?.['application/json']?.examples ?? {});
  if (examples.length > 0) return (examples as { value: ErrorExample }[]).map(({ value }) => value);
  return [
    { code: codeOfStatus(status), message: description || `${STATUS_CODES[status]}.`, status },
  ];
}

/** Describes an error response, with an example for each code. */
export function errorResponse(errors: readonly ErrorExample[], ...on: string[]): ResponseObject {
  const examples = Object.fromEntries(errors.map((value) => [value.code, { value }]));
  return {
    description: errors.map(({ message }) => message).join(' Or: '),
    headers: headersOn('always', ...on, ...Object.keys(examples)),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' }, examples } },
  };
}
