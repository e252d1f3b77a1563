import type { OperationObject, ResponseObject } from '@nestjs/swagger';
import { codeOfStatus, ERRORS } from '../../../errors/catalogue.js';
import {
  DEPRECATION_EXTENSION,
  removalMessage,
  type Deprecation,
} from '../../routing/deprecation.js';
import { takeErrors } from '../decorators/api-errors.decorator.js';
import { ROUTE_LIMIT, type RouteLimit } from '../decorators/api-route-limit.decorator.js';
import { TAG, type Tag } from '../decorators/api-tag.decorator.js';
import {
  AUTHENTICATED_OPERATION,
  byStatus,
  type ErrorExamples,
  errorResponse,
  EVERY_OPERATION,
  LIMITED_OPERATION,
  OPERATION_WITH_BODY,
  shared,
} from './errors.js';
import {
  EVERY_RESPONSE,
  EVERY_UNLIMITED_RESPONSE,
  requestHeaders,
  type ResponseHeader,
  responseHeaders,
} from './headers.js';

/** An operation with the extensions of the decorators. They are not published. */
export type DecoratedOperation = OperationObject & {
  [TAG]?: Tag;
  [ROUTE_LIMIT]?: RouteLimit | 'none';
  [DEPRECATION_EXTENSION]?: Deprecation;
};

type Responses = OperationObject['responses'];

/** Returns the headers that every response with a status has. */
type HeadersOf = (status: number) => readonly ResponseHeader[];

const NOT_MODIFIED = 'The representation has not changed since the caller received it. No body.';

const DEPRECATION_HEADERS = ['Deprecation', 'Sunset', 'SuccessorLink'] as const;

/** Statuses of responses that are sent before the route is known. */
const BEFORE_ROUTING = [408, 431];

/** Statuses of responses that are sent before DeprecationGuard has set its headers. */
const BEFORE_DEPRECATION = [...BEFORE_ROUTING, 401, 413, 415, 429];

/**
 * Adds to an operation what the pipeline does for every operation: request headers, headers of
 * every response, entity tags, idempotency keys, deprecations, and errors.
 */
export function describeOperation(method: string, decorated: DecoratedOperation): OperationObject {
  const {
    [TAG]: tag,
    [DEPRECATION_EXTENSION]: deprecation,
    [ROUTE_LIMIT]: limit,
    ...rest
  } = decorated;
  const { errors, operation } = takeErrors(rest);
  const { operationId, summary, description, tags, security, ...others } = operation;
  const { parameters = [], requestBody, responses, ...extensions } = others;
  const isRead = method === 'get';
  const isIdempotent = 'idempotency_key_reused' in errors;
  const routeLimit = limit === 'none' ? undefined : limit;
  const isPublic = security?.some((scheme) => Object.keys(scheme).length === 0) ?? false;

  const headersOf = (status: number): ResponseHeader[] => [
    ...(limit === 'none' && !BEFORE_ROUTING.includes(status)
      ? EVERY_UNLIMITED_RESPONSE
      : EVERY_RESPONSE),
    ...(isRead && status === 200 ? (['ETag', 'Vary'] as const) : []),
    ...(isIdempotent && status < 300 ? (['Idempotent-Replayed'] as const) : []),
    ...(deprecation && !BEFORE_DEPRECATION.includes(status) ? DEPRECATION_HEADERS : []),
  ];
  const messages = {
    ...EVERY_OPERATION,
    ...(!isPublic && AUTHENTICATED_OPERATION),
    ...(limit !== 'none' && LIMITED_OPERATION),
    ...(requestBody && OPERATION_WITH_BODY),
    ...(deprecation && { endpoint_removed: removalMessage(deprecation) }),
    ...errors,
  };
  // PublishedDescription omits properties that are undefined.
  return {
    operationId,
    summary,
    description:
      [description, deprecation && notice(deprecation), routeLimit && limitNotice(routeLimit)]
        .filter((text) => text !== undefined)
        .join('\n\n') || undefined,
    deprecated: deprecation ? true : undefined,
    tags: tag ? [tag.name] : tags,
    security: isPublic ? [] : undefined,
    parameters: [
      ...(isIdempotent ? requestHeaders('Idempotency-Key') : []),
      ...parameters,
      ...(isRead ? requestHeaders('If-None-Match') : []),
      ...requestHeaders('X-Request-Id', 'traceparent'),
    ],
    requestBody,
    responses: {
      ...successes(responses, headersOf),
      ...failures(responses, byStatus(messages), headersOf),
      417: { $ref: '#/components/responses/ExpectationFailed' },
      default: { $ref: '#/components/responses/NoSuchOperation' },
    },
    'x-sunset': deprecation?.sunset.toISOString(),
    ...extensions,
  } as OperationObject;
}

function limitNotice({ limit, seconds }: RouteLimit): string {
  const requests = limit === 1 ? '1 request' : `${limit} requests`;
  return `Allows ${requests} per ${seconds === 1 ? 'second' : `${seconds} seconds`}, in addition to the limits of the plan. The rate limit headers call this window \`route\`.`;
}

function notice({ since, sunset, replacement }: Deprecation): string {
  return `**Deprecated** since ${longDate(since)}, removed on ${longDate(sunset)}. After that date the response is 410. ${replacement}`;
}

function longDate(date: Date): string {
  return date.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
}

/** Completes the responses that are not errors. A read that has a tag can also respond 304. */
function successes(declared: Responses, headersOf: HeadersOf): Responses {
  const responses: Responses = {};
  for (const [status, response] of Object.entries(declared) as [string, ResponseObject][]) {
    if (Number(status) >= 400) continue;
    const headers = { ...responseHeaders(...headersOf(Number(status))), ...response.headers };
    responses[status] = { ...response, headers };
    if ('ETag' in headers) responses['304'] = { description: NOT_MODIFIED, headers };
  }
  return responses;
}

/** Describes the errors. A declared response adds the generic code of its status to the errors. */
function failures(
  declared: Responses,
  errors: Map<number, ErrorExamples>,
  headersOf: HeadersOf,
): Responses {
  const responses: Responses = {};
  for (const [key, { description }] of Object.entries(declared) as [string, ResponseObject][]) {
    const status = Number(key);
    if (!(status >= 400)) continue;
    const code = codeOfStatus(status);
    errors.set(status, { ...errors.get(status), [code]: description || ERRORS[code].when });
  }
  for (const [status, messages] of errors) {
    const response = errorResponse(status, messages, headersOf(status));
    const { headers } = (declared[status] ?? {}) as Partial<ResponseObject>;
    responses[status] = shared({ ...response, headers: { ...response.headers, ...headers } });
  }
  return responses;
}
