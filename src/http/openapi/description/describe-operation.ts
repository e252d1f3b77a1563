import { IDEMPOTENT_EXTENSION } from '../decorators/api-idempotent.decorator.js';
import { commonResponses, EVERY_OPERATION, OPERATION_WITH_BODY } from './common-responses.js';
import type { Operation, Response } from './openapi-types.js';
import { requestHeaders } from './request-headers.js';
import { EVERY_RESPONSE, type ResponseHeader, responseHeaders } from './response-headers.js';

/**
 * Adds to an operation what the pipeline does for every operation: request headers, headers of
 * every response, entity tags, idempotency keys, and the errors of the guards.
 */
export function describeOperation(method: string, described: Operation): Operation {
  const { [IDEMPOTENT_EXTENSION]: isIdempotent = false, ...operation } = described as Operation & {
    [IDEMPOTENT_EXTENSION]?: true;
  };
  const isRead = method === 'get';
  return {
    ...operation,
    parameters: [
      ...(isIdempotent ? requestHeaders('Idempotency-Key') : []),
      ...(operation.parameters ?? []),
      ...(isRead ? requestHeaders('If-None-Match') : []),
      ...requestHeaders('X-Request-Id', 'traceparent'),
    ],
    responses: {
      ...commonResponses(EVERY_OPERATION),
      ...(operation.requestBody && commonResponses(OPERATION_WITH_BODY)),
      ...operation.responses,
      ...successes(operation, isRead, isIdempotent),
    },
  };
}

/** Returns the successful responses with all headers, by status. */
function successes(
  { responses }: Operation,
  isRead: boolean,
  isIdempotent: boolean,
): Operation['responses'] {
  const complete: Operation['responses'] = {};
  for (const [status, response] of Object.entries(responses)) {
    if (!status.startsWith('2') || !response || '$ref' in response) continue;
    const hasTag = isRead && status === '200';
    const names: ResponseHeader[] = [...EVERY_RESPONSE, ...(hasTag ? ENTITY_TAG_HEADERS : [])];
    const headers = {
      ...responseHeaders(...names),
      ...response.headers,
      ...(isIdempotent && responseHeaders('Idempotent-Replayed')),
    };
    complete[status] = { ...response, headers };
    if (hasTag) complete['304'] = notModified(headers);
  }
  return complete;
}

const ENTITY_TAG_HEADERS: readonly ResponseHeader[] = ['ETag', 'Vary'];

function notModified(headers: Response['headers']): Response {
  return {
    description: 'The representation has not changed since the caller received it. No body.',
    ...(headers && { headers }),
  };
}
