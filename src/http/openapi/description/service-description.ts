import { ERROR_CODES, ERROR_STATUS } from '../../../errors/catalogue.js';
import { ERROR_DESCRIPTIONS } from './error-descriptions.js';

const errorTable = ERROR_CODES.map(
  (code) => `| ${ERROR_STATUS[code]} | \`${code}\` | ${ERROR_DESCRIPTIONS[code]} |`,
).join('\n');

const text = `
A store of individual animals that are available for adoption: list them, add them, get one of them.

Requests and answers are JSON in UTF-8, failures included. Identifiers are 64-bit integers: read them with a
parser that keeps all of their digits (JavaScript's \`JSON.parse\` rounds beyond 2^53).

## Authentication

Every operation needs an API key: \`Authorization: Bearer <API_KEY>\`. Without a valid one the answer is 401.

## Limits

Requests are limited by the plan of the key's owner, over all of the owner's keys, in two windows that each begin
with the first request in them.

| plan | per minute | per day |
| --- | --- | --- |
| Free | 60 | 1,000 |
| Pro | 300 | 10,000 |
| Business | 1,000 | 100,000 |
| Enterprise | custom | custom |

Every answer carries \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\` (a Unix timestamp in
seconds): they tell of the window with the fewest requests remaining. \`RateLimit\` and \`RateLimit-Policy\` tell of both.

A request over the limit is answered 429 with \`Retry-After\` and is not counted. Wait at least that long, then retry with
exponential backoff: double the wait after each further refusal, and vary it at random, so that clients do not come back all
at once. The same holds for 503. A key that goes on regardless is banned for a time (\`api_key_banned\`).

## Paging

A list is answered in pages, in ascending order of \`id\`. When more follows, the answer has a \`Link\` with \`rel="next"\`
(RFC 8288): follow it as it is, until an answer has none. A walk visits everything that was there when it began exactly
once. Cursors do not expire.

## Conditional requests

What is read has an \`ETag\`. Sent back as \`If-None-Match\`, it is answered 304 without a body while nothing has changed. Such
a request counts like any other.

## Retries

An operation that takes an \`Idempotency-Key\` can be sent again without being done twice: with the same key and an equal
body, the first successful answer comes back for 24 hours, byte for byte, with \`Idempotent-Replayed: true\`. Only successes
are kept: after a failure the key is as good as new. While the first request is under way the answer is 409, for another
body 422. Keys belong to the owner, over all of the owner's API keys. A retry counts like any request.

## Versions

The version is the path segment \`v1\`. A deprecated operation answers with \`Deprecation\` (RFC 9745), \`Sunset\` (RFC 8594)
and a \`Link\` to its successor. It stays available until its removal date; from then on it answers 410 and is no longer
described here.

## Errors

Every failure has a body of the shape \`Error\`. Its \`code\` is one of a closed set:

| status | code | when |
| --- | --- | --- |
${errorTable}

Beside the operations: a path that does not exist is 404 \`route_not_found\` (paths are exact, without a slash at the end), a
method that a path does not take is 405 with \`Allow\`, a request that HTTP does not allow is 400, and an \`Expect\` other than
\`100-continue\` is 417, the last two with \`invalid_request\`. HEAD answers as GET, without the body; OPTIONS answers 204 with
\`Allow\`.
`.trim();

/**
 * What the interface description says before the operations, in Markdown, each paragraph on a line:
 * Swagger UI shows every line break.
 */
export const SERVICE_DESCRIPTION = text.replace(/(?<=[^\n|])\n(?=[^\n|#])/g, ' ');
