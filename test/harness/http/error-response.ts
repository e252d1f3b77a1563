import { PRODUCT } from '../../../src/product.js';
import { ERRORS } from '../../../src/platform/errors/catalogue.js';

/** The header `WWW-Authenticate` of a 401. */
export const CHALLENGE = `Bearer realm="${PRODUCT.realm}"`;

/** The errors of the platform and of the store of its tests. */
export const ALL_ERRORS = {
  ...ERRORS,
  item_not_found: { status: 404 },
};

/** The parts of a response that the expectations need. */
export interface AnyResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** Words of frameworks, drivers and the database, which callers must not see. */
const INSIDE =
  /Cannot (?:GET|POST)|Nest|Express|Unexpected|at position|TypeORM|Postgres|SQL|ECONN|HPE_|\.[jt]s\b|Exception|Error/;

/** Headers that describe the result of a success. */
const OF_SUCCESS = [
  'content-encoding',
  'content-disposition',
  'content-language',
  'content-range',
  'digest',
  'etag',
  'last-modified',
  'accept-ranges',
  'expires',
  'location',
  'idempotent-replayed',
  'trailer',
  'transfer-encoding',
];

/** Expects the headers of every response under /v1. */
export function expectRateLimitHeaders({ headers }: AnyResponse): void {
  expect(headers).toMatchObject({
    'x-request-id': expect.stringMatching(/^[A-Za-z0-9_-]{1,128}$/),
    'x-content-type-options': 'nosniff',
    'x-ratelimit-limit': expect.stringMatching(/^[1-9]\d*$/),
    'x-ratelimit-remaining': expect.stringMatching(/^\d+$/),
    'x-ratelimit-reset': expect.stringMatching(/^[1-9]\d{9}$/),
    'ratelimit-policy': expect.stringMatching(
      /^"minute";q=\d+;w=60(?:, "day";q=\d+;w=86400)?(?:, "route";q=\d+;w=\d+)?$/,
    ),
    ratelimit: expect.stringMatching(
      /^"minute";r=\d+;t=\d+(?:, "day";r=\d+;t=\d+)?(?:, "route";r=\d+;t=\d+)?$/,
    ),
  });
}

/** Expects an Error body and the headers of an error response, with 429 and 503 also Retry-After. Returns the message. */
export function expectError(response: AnyResponse, status: number, code: string): string {
  const error = JSON.parse(response.text) as { code: string; message: string; status: number };
  expect({ ...error, httpStatus: response.status }).toEqual({
    code,
    message: expect.stringMatching(/^\S.*\.$/),
    status,
    httpStatus: status,
  });
  expect(error.message).not.toMatch(INSIDE);
  expect(response.headers).toMatchObject({
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(response.text)),
    'cache-control': 'no-store',
  });
  for (const name of OF_SUCCESS) expect(response.headers).not.toHaveProperty(name);
  expect(String(response.headers['link'])).not.toContain('rel="next"');
  if (status === 429 || status === 503)
    expect(response.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  expectRateLimitHeaders(response);
  return error.message;
}
