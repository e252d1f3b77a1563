import { PLAN_LIMITS } from '../../config/plans.js';
import type { Product } from '../../config/product.js';

const PLANS = Object.entries(PLAN_LIMITS).map(([plan, limits]) => {
  const numbers = limits && [limits.perMinute, limits.perDay].map((n) => n.toLocaleString('en-US'));
  return `${plan.charAt(0).toUpperCase()}${plan.slice(1)} ${numbers?.join(' and ') ?? 'custom'}`;
});

/** The introduction in Markdown. A paragraph is one line, because Swagger UI shows line breaks. */
export const serviceDescription = ({ summary }: Product): string =>
  `
${summary}

Requests and responses are JSON in UTF-8, including errors. Identifiers are 64-bit integers, and JavaScript's \`JSON.parse\` rounds those above 2^53.

**Authentication:** Send the API key as \`Authorization: Bearer <API_KEY>\`. A read-only API key allows only GET, HEAD and OPTIONS.

**Rate limits** of all API keys of an owner, per minute and per day: ${PLANS.join(', ')}. After a 429 or 503, wait \`Retry-After\` seconds, then retry with exponential backoff. An API key that keeps sending requests over its limit is temporarily banned.

**Pagination:** Request the URL in the \`Link\` header with \`rel="next"\` unchanged, until a response has none.

**Methods:** HEAD returns the same as GET without the body. OPTIONS returns 204 with \`Allow\`. Responses to the origins that the operator lists have \`Access-Control-Allow-Origin\` and \`Access-Control-Expose-Headers\`.
`.trim();
