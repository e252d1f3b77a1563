import { PRODUCT } from '../../../product.js';

const TEXT = `
${PRODUCT.summary}

Requests and responses are JSON in UTF-8, including errors. Request bodies must not be compressed. Identifiers are
64-bit integers: use a parser that keeps all of their digits. JavaScript's \`JSON.parse\` rounds integers above 2^53.

**Authentication:** Every operation needs an API key, as \`Authorization: Bearer <API_KEY>\`.

**Rate limits:** The plan of the API key's owner limits the number of requests, counted over all of the owner's API
keys. Over the limit, the response is 429 with \`Retry-After\`. Wait at least that long, then retry with exponential
backoff. Do the same after a 503. An API key that keeps sending requests over its limit is temporarily banned.

| plan | per minute | per day |
| --- | --- | --- |
| Free | 60 | 1,000 |
| Pro | 300 | 10,000 |
| Business | 1,000 | 100,000 |
| Enterprise | custom | custom |

**Pagination:** If more items follow, the response has a \`Link\` header with \`rel="next"\` (RFC 8288). Request this
URL unchanged until a response has none. You get every item that existed when you requested the first page once.

**Conditional requests:** Responses to reads have an \`ETag\`. Send it as \`If-None-Match\`: if nothing has changed,
the response is 304 without a body.

**Retries:** For 24 hours, a request with the same \`Idempotency-Key\` and an equal body gets the first successful
response again, byte for byte, with \`Idempotent-Replayed: true\`. An error is not stored.

**Versions:** Responses of a deprecated operation have the headers \`Deprecation\` (RFC 9745), \`Sunset\` (RFC 8594) and
a \`Link\` to the successor. After its removal date, the response is 410.

**Methods:** HEAD returns the same as GET without the body. OPTIONS returns 204 with \`Allow\`. Responses to the
origins that the operator lists have \`Access-Control-Allow-Origin\` and \`Access-Control-Expose-Headers\`.
`.trim();

/** The introduction in Markdown. A paragraph is one line, because Swagger UI shows line breaks. */
export const SERVICE_DESCRIPTION = TEXT.replace(/(?<=[^\n|])\n(?=[^\n|])/g, ' ');
