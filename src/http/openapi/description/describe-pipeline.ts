import { commonResponses, EVERY_OPERATION, OPERATION_WITH_BODY } from './common-responses.js';
import type { Method, Operation, Response } from './openapi-types.js';
import { requestHeaders } from './request-headers.js';
import { EVERY_RESPONSE, responseHeaders } from './response-headers.js';

/**
 * Adds to an operation what holds for every one without being asked: fields of the request that are
 * always read, fields that every answer carries, entity tags, and the failures of the steps before it.
 */
export function describePipeline(method: Method, operation: Operation): Operation {
  const fields = requestHeaders('X-Request-Id', 'traceparent');
  const isRead = method === 'get';
  return {
    ...operation,
    parameters: [
      ...(operation.parameters ?? []),
      ...(isRead ? requestHeaders('If-None-Match') : []),
      ...fields,
    ],
    responses: {
      ...commonResponses(EVERY_OPERATION),
      ...(operation.requestBody && commonResponses(OPERATION_WITH_BODY)),
      ...operation.responses,
      ...successes(operation, isRead),
    },
  };
}

/** Returns the successful responses, complete, by status. */
function successes({ responses }: Operation, isRead: boolean): Operation['responses'] {
  const complete: Operation['responses'] = {};
  for (const [status, response] of Object.entries(responses)) {
    if (!status.startsWith('2') || !response || '$ref' in response) continue;
    const tagged = isRead && status === '200';
    const names = tagged ? ([...EVERY_RESPONSE, 'ETag', 'Vary'] as const) : EVERY_RESPONSE;
    const headers = { ...responseHeaders(...names), ...response.headers };
    complete[status] = { ...response, headers };
    if (tagged) complete['304'] = notModified(headers);
  }
  return complete;
}

function notModified(headers: Response['headers']): Response {
  return {
    description: 'The representation that If-None-Match names is still the right one: no body.',
    ...(headers && { headers }),
  };
}
