import { PUBLIC_MESSAGES } from '../../../errors/public-messages.js';
import { IDEMPOTENT_EXTENSION } from '../decorators/api-idempotent.decorator.js';
import { errorResponse } from './error-response.js';
import type { Operation } from './openapi-types.js';
import { requestHeaders } from './request-headers.js';
import { responseHeaders } from './response-headers.js';

const REFUSALS = {
  409: errorResponse(409, {
    idempotency_key_in_progress: PUBLIC_MESSAGES.idempotencyKeyInProgress,
  }),
  422: errorResponse(422, {
    idempotency_key_reused: PUBLIC_MESSAGES.idempotencyKeyReused,
  }),
};

/** Describes what an idempotency key does to an operation: a field of the request, one of its success, two refusals. */
export function describeIdempotency(operation: Operation): Operation {
  const { [IDEMPOTENT_EXTENSION]: idempotent, ...rest } = operation as Operation & {
    [IDEMPOTENT_EXTENSION]?: true;
  };
  if (!idempotent) return operation;
  const responses = Object.entries(rest.responses).map(([status, response]) => {
    if (!status.startsWith('2') || !response || '$ref' in response) return [status, response];
    const headers = { ...response.headers, ...responseHeaders('Idempotent-Replayed') };
    return [status, { ...response, headers }];
  });
  return {
    ...rest,
    parameters: [...requestHeaders('Idempotency-Key'), ...(rest.parameters ?? [])],
    responses: { ...(Object.fromEntries(responses) as Operation['responses']), ...REFUSALS },
  };
}
