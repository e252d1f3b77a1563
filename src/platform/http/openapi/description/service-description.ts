import { PLAN_LIMITS } from '../../../config/plans.js';
import type { FeatureError } from '../../../errors/catalogue.js';

const planTable = Object.entries(PLAN_LIMITS).map(([name, limits]) => {
  const number = (limit?: number) => limit?.toLocaleString('en-US') ?? 'custom';
  return `| ${name} | ${number(limits?.perMinute)} | ${number(limits?.perDay)} |`;
});

const TEXT = `
A store of individual animals that are available for adoption. Clients list, add and get animals.

Requests and responses are JSON in UTF-8, including errors. Request bodies must not be compressed. Identifiers are
64-bit integers. Use a parser that keeps all of their digits: JavaScript's \`JSON.parse\` rounds integers above 2^53.

## Authentication

Every operation needs an API key: \`Authorization: Bearer <API_KEY>\`. Without a valid API key, the response is 401.

## Rate limits

The plan of the API key's owner limits the number of requests, counted over all of the owner's API keys. There are two
windows. Each begins with the first request in it. Conditional requests and retries count like all others.

| plan | per minute | per day |
| --- | --- | --- |
${planTable.join('\n')}

The response to a request over the limit is 429 with \`Retry-After\`. The request is not counted. Wait at least that
long, then retry with exponential backoff: double the wait after each further rejection, and vary it at random so that
clients do not all return at once. Do the same after a 503. An API key that keeps sending requests over its limit is
temporarily banned (\`api_key_banned\`).

## Pagination

A list has pages. If more items follow, the response has a \`Link\` header with \`rel="next"\` (RFC 8288). Follow this URL
unchanged until a response has no such header. You then get every item that existed when you requested the first page
exactly once. Cursors do not expire.

## Conditional requests

Responses to reads have an \`ETag\`. Send it as \`If-None-Match\`: if nothing has changed, the response is 304 without a
body.

## Retries

For 24 hours, a request with the same \`Idempotency-Key\` and an equal body gets the first successful response again,
byte for byte, with \`Idempotent-Replayed: true\`. Only successful responses are stored, so after an error you can use
the same key again. Keys belong to the owner and apply to all of the owner's API keys.

## Versions

The version is the path segment \`v1\`. Responses of a deprecated operation have the headers \`Deprecation\` (RFC 9745),
\`Sunset\` (RFC 8594) and a \`Link\` to the successor. After its removal date, the response is 410.

## Errors

Every error response has a body of type \`Error\`. The set of values of \`code\` is closed:

| status | code | when |
| --- | --- | --- |
ERROR_TABLE

The response is 404 \`route_not_found\` if no route matches the path (paths are exact and have no trailing slash), and
405 with \`Allow\` if the path does not allow the method. It is 400 \`invalid_request\` if the request violates HTTP, and
417 \`invalid_request\` if \`Expect\` is not \`100-continue\`. HEAD returns the same as GET without the body. OPTIONS
returns 204 with \`Allow\`.
`.trim();

/**
 * Returns the introduction in Markdown, with a table of these errors. A paragraph is one line,
 * because Swagger UI shows line breaks.
 */
export function serviceDescription(errors: readonly FeatureError[]): string {
  const rows = errors.map(({ code, status, when }) => `| ${status} | \`${code}\` | ${when} |`);
  return TEXT.replace(/(?<=[^\n|])\n(?=[^\n|#])/g, ' ').replace('ERROR_TABLE', rows.join('\n'));
}
