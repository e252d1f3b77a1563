import {
  DEPRECATION_EXTENSION,
  removalMessage,
  type Deprecation,
} from '../../routing/deprecation.js';
import { COMMON_RESPONSES, EVERY_OPERATION, OPERATION_WITH_BODY } from './common-responses.js';
import { errorResponse } from './error-response.js';
import type { Operation, Reference, Response } from './openapi-types.js';
import { responseHeaders } from './response-headers.js';

/** When the operation is removed, as an RFC 3339 date and time. */
const SUNSET = 'x-sunset';

/** Statuses of responses that are sent before DeprecationGuard has set its headers. */
const WITHOUT_HEADERS = Object.keys({ ...EVERY_OPERATION, ...OPERATION_WITH_BODY }).filter(
  (status) => status !== '500' && status !== '503',
);

/** Describes the effects of `@Deprecated()`: response headers, the removal, the successor. */
export function describeDeprecation(operation: Operation): Operation {
  const { [DEPRECATION_EXTENSION]: deprecation, ...rest } = operation as Operation & {
    [DEPRECATION_EXTENSION]?: Deprecation;
  };
  if (!deprecation) return operation;
  const responses = { ...rest.responses, 410: removal(deprecation) };
  return {
    ...rest,
    deprecated: true,
    description: [rest.description, notice(deprecation)].filter(Boolean).join('\n\n'),
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, response]) => [
        status,
        WITHOUT_HEADERS.includes(status) ? response : withDeprecationHeaders(response),
      ]),
    ),
    ...{ [SUNSET]: deprecation.sunset.toISOString() },
  };
}

/** Returns when the operation is removed, in milliseconds since the epoch; Infinity for never. */
export function sunsetOf(operation: Operation): number {
  const sunset = (operation as Operation & { [SUNSET]?: string })[SUNSET];
  return sunset === undefined ? Infinity : Date.parse(sunset);
}

function removal(deprecation: Deprecation): Response {
  return errorResponse(410, { endpoint_removed: removalMessage(deprecation) });
}

/** Returns the response with the deprecation headers. A shared response is copied. */
function withDeprecationHeaders(response: Response | Reference): Response {
  const own = '$ref' in response ? referredTo(response) : response;
  const announcement = responseHeaders('Deprecation', 'Sunset', 'SuccessorLink');
  return { ...own, headers: { ...own.headers, ...announcement } };
}

function referredTo({ $ref }: Reference): Response {
  const name = $ref.slice($ref.lastIndexOf('/') + 1) as keyof typeof COMMON_RESPONSES;
  return COMMON_RESPONSES[name];
}

function notice({ since, sunset, replacement }: Deprecation): string {
  return `**Deprecated** since ${longDate(since)}, removed on ${longDate(sunset)}. After that date the response is 410. ${replacement}`;
}

function longDate(date: Date): string {
  return date.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
}
