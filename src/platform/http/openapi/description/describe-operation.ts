import { STATUS_CODES } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import type { OperationObject, ReferenceObject, ResponseObject } from '@nestjs/swagger';
import { codeOfStatus, ERRORS } from '../../../errors/catalogue.js';
import {
  DEPRECATION_EXTENSION,
  type Deprecation,
  removalMessage,
} from '../../routing/deprecation.js';
import { takeErrors } from '../decorators/api-errors.decorator.js';
import * as errors from './errors.js';
import * as headers from './headers.js';

export type Responses = Record<string, ResponseObject | ReferenceObject>;

/** An operation with the extension of `@Deprecated()`, which is not published. */
export type DecoratedOperation = OperationObject & { [DEPRECATION_EXTENSION]?: Deprecation };

const DEPRECATED = ['Deprecation', 'Sunset', 'Link'] as const;

/** Responses that are sent before the route is known. The default is 404 or 405. */
const BEFORE_ROUTING = ['408', '417', '431', 'default'];

/** Responses that are sent before DeprecationGuard has set its headers. */
const BEFORE_DEPRECATION = [...BEFORE_ROUTING, '401', '413', '415', '429'];

/**
 * Adds to an operation what the pipeline does for every operation: request headers, headers of
 * every response, entity tags, idempotency keys, deprecations, and errors. Adds to the `shared`
 * responses of all operations.
 */
export function describeOperation(
  method: string,
  { [DEPRECATION_EXTENSION]: deprecation, ...decorated }: DecoratedOperation,
  shared: Responses,
): OperationObject {
  const { errors: ownErrors, operation } = takeErrors(decorated);
  const isRead = method === 'get';
  const isIdempotent = 'idempotency_key_reused' in ownErrors;
  const isPublic = operation.security?.some((scheme) => Object.keys(scheme).length === 0) ?? false;

  const headersOf = (status: string) => {
    return headers.responseHeaders(
      ...(Object.keys(headers.EVERY_RESPONSE) as headers.ResponseHeader[]),
      ...(isRead && status === '200' ? (['ETag', 'Vary'] as const) : []),
      ...(isIdempotent && status.startsWith('2') ? (['Idempotent-Replayed'] as const) : []),
      ...(deprecation && !BEFORE_DEPRECATION.includes(status) ? DEPRECATED : []),
    );
  };
  const errorsByStatus = errors.byStatus({
    ...errors.EVERY_OPERATION,
    ...(!isPublic && errors.AUTHENTICATED_OPERATION),
    ...(operation.requestBody && errors.OPERATION_WITH_BODY),
    ...(deprecation && { endpoint_removed: removalMessage(deprecation) }),
    ...ownErrors,
  });
  const responses: Responses = {};
  const declared = operation.responses as Record<string, ResponseObject>;
  for (const [status, response] of Object.entries(declared)) {
    if (Number(status) >= 400) {
      const code = codeOfStatus(Number(status));
      const messages = { [code]: response.description || ERRORS[code].when };
      errorsByStatus.set(status, { ...errorsByStatus.get(status), ...messages });
    } else {
      const all = { ...headersOf(status), ...response.headers };
      responses[status] = { ...response, headers: all };
      if ('ETag' in all) responses[304] = { description: 'Not changed. No body.', headers: all };
    }
  }
  for (const [status, messages] of errorsByStatus) {
    const response = errors.errorResponse(status, messages, headersOf(status));
    const name = STATUS_CODES[status]?.replaceAll(' ', '') ?? 'NoSuchOperation';
    shared[name] ??= response;
    const isShared = isDeepStrictEqual(shared[name], response);
    responses[status] = isShared ? { $ref: `#/components/responses/${name}` } : response;
  }
  return {
    ...operation,
    ...(deprecation && removalOf(deprecation, operation.description)),
    ...(isPublic && { security: [] }),
    parameters: [
      ...(isIdempotent ? headers.requestHeaders('Idempotency-Key') : []),
      ...(operation.parameters ?? []),
      ...(isRead ? headers.requestHeaders('If-None-Match') : []),
      ...headers.requestHeaders('X-Request-Id', 'traceparent'),
    ],
    responses,
  };
}

function removalOf({ since, sunset, replacement }: Deprecation, description = '') {
  const dates = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
  const notice = `**Deprecated** since ${dates.format(since)}, removed on ${dates.format(sunset)}. After that date the response is 410. ${replacement}`;
  const text = `${description}\n\n${notice}`.trim();
  return { deprecated: true, description: text, 'x-sunset': sunset.toISOString() };
}
