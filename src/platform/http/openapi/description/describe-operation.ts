import { STATUS_CODES } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import type {
  OperationObject,
  ParameterObject,
  ReferenceObject,
  ResponseObject,
  SchemaObject,
} from '@nestjs/swagger';
import { codeOfStatus, ERRORS } from '../../../errors/catalogue.js';
import { headersOn, requestHeaders } from '../../request/headers.js';
import {
  DEPRECATION_EXTENSION,
  type Deprecation,
  removalMessage,
} from '../../routing/deprecation.js';
import { takeErrors } from '../decorators/api-errors.decorator.js';
import { type DescribedError, describedErrors, errorResponse, errorsByStatus } from './errors.js';
import { UPLOAD_TYPE } from './uploads.js';

/** An operation with the extension of `@Deprecated()`, which is not published. */
export type DecoratedOperation = OperationObject & { [DEPRECATION_EXTENSION]?: Deprecation };

/** What the operations share. */
export interface Shared {
  responses: Record<string, ResponseObject | ReferenceObject>;
  errors: DescribedError[];
}

/** Responses that are sent before DeprecationGuard has set its headers. The default is 404 or 405. */
const BEFORE_DEPRECATION = ['401', '408', '413', '415', '417', '429', '431', 'default'];

/**
 * Adds to an operation what the pipeline does for every operation: request headers, headers of
 * every response, entity tags, idempotency keys, deprecations, and errors. Adds to `shared`.
 */
export function describeOperation(
  method: string,
  { [DEPRECATION_EXTENSION]: deprecation, ...decorated }: DecoratedOperation,
  shared: Shared,
): OperationObject {
  const { errors: ownErrors, operation } = takeErrors(decorated);
  const isRead = method === 'get';
  const isIdempotent = ownErrors.some(({ code }) => code === 'idempotency_key_reused');
  const isPublic = operation.security?.some((scheme) => Object.keys(scheme).length === 0) ?? false;
  const headersOf = (status: string, ...occasions: readonly string[]) => {
    const isDeprecated = deprecation && !BEFORE_DEPRECATION.includes(status);
    return headersOn('always', ...occasions, ...(isDeprecated ? ['deprecated'] : []));
  };

  const responses: Shared['responses'] = {};
  const declared = Object.entries(operation.responses as Record<string, ResponseObject>);
  for (const [status, response] of declared) {
    if (Number(status) >= 400) {
      const code = codeOfStatus(Number(status));
      // @nestjs/swagger joins the descriptions of several decorators.
      for (const message of (response.description || ERRORS[code].when).split('\n\n')) {
        ownErrors.push({ code, status: Number(status), when: ERRORS[code].when, message });
      }
      continue;
    }
    const isTagged = isRead && status === '200';
    const occasions = [isTagged ? 'read' : '', isIdempotent ? 'idempotent' : ''];
    const all = { ...headersOf(status, ...occasions), ...response.headers };
    responses[status] = { ...response, headers: all };
    if (isTagged) responses[304] = { description: 'Not changed. No body.', headers: all };
  }
  if (deprecation) {
    ownErrors.push(...describedErrors({ endpoint_removed: removalMessage(deprecation) }));
  }
  const { requestBody } = operation;
  const isUpload = requestBody && 'content' in requestBody && UPLOAD_TYPE in requestBody.content;
  const body = requestBody && (isUpload ? 'upload' : 'json');
  const hasInput =
    body !== undefined || isIdempotent || operation.parameters?.some(isValidated) === true;
  for (const [status, errors] of errorsByStatus({ isPublic, hasInput, body }, ownErrors)) {
    shared.errors.push(...errors);
    const response = errorResponse(errors, headersOf(status));
    const name = STATUS_CODES[status]?.replaceAll(' ', '') ?? 'NoSuchOperation';
    shared.responses[name] ??= response;
    const isShared = isDeepStrictEqual(shared.responses[name], response);
    responses[status] = isShared ? { $ref: `#/components/responses/${name}` } : response;
  }
  return {
    ...operation,
    ...(deprecation && removalOf(deprecation, operation.description)),
    ...(isPublic && { security: [] }),
    parameters: [
      ...(isIdempotent ? requestHeaders('Idempotency-Key') : []),
      ...(operation.parameters ?? []),
      ...(isRead ? requestHeaders('If-None-Match') : []),
      ...requestHeaders('X-Request-Id', 'traceparent'),
    ],
    responses,
  };
}

/** An int64 in a path identifies nothing if it is invalid: the response is 404. */
function isValidated(parameter: ParameterObject | ReferenceObject): boolean {
  if ('$ref' in parameter) return false;
  const { format } = (parameter.schema ?? {}) as SchemaObject;
  return parameter.in === 'query' || (parameter.in === 'path' && format !== 'int64');
}

function removalOf({ since, sunset, replacement }: Deprecation, description = '') {
  const dates = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
  const notice = `**Deprecated** since ${dates.format(since)}, removed on ${dates.format(sunset)}. After that date the response is 410. ${replacement}`;
  const text = `${description}\n\n${notice}`.trim();
  return { deprecated: true, description: text, 'x-sunset': sunset.toISOString() };
}
