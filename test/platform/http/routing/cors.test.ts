import { ApiClient, send, type RequestOptions } from '../../../harness/http/client.js';
import { expectError, expectRateLimitHeaders } from '../../../harness/http/error-response.js';
import { RawConnection, requestHead } from '../../../harness/http/raw-connection.js';
import { useStore } from '../../../harness/http/store.js';
import { startService } from '../../../harness/service/service.js';

const LISTED = 'https://app.example.org';
const OTHER_LISTED = 'http://localhost:5173';
const PREFLIGHT = {
  'Access-Control-Request-Method': 'POST',
  'Access-Control-Request-Headers': 'authorization',
};
const EXPOSED = [
  'Link',
  'ETag',
  'Retry-After',
  'X-Request-Id',
  'Deprecation',
  'Sunset',
  'RateLimit',
  'RateLimit-Policy',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
];

const store = useStore({
  features: 'responses',
  env: { CORS_ORIGINS: `${LISTED}, ${OTHER_LISTED}` },
});
const itemsOf = (header: unknown): string[] => String(header).split(', ');
const corsHeaders = (headers: object): string[] =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));
const preflight = (path: string, origin: string) =>
  send(store.service, path, { method: 'OPTIONS', headers: { Origin: origin, ...PREFLIGHT } });

describe('a preflight', () => {
  it.each(['/v1/items', '/v1/items/1', '/v1/nope', '/v1/values/any-method'])(
    'OPTIONS %s › 204 without an API key, counted nowhere',
    async (path) => {
      const remaining = async () =>
        Number((await store.anonymous.get('/v1/items')).headers['x-ratelimit-remaining']);
      const before = await remaining();
      const response = await preflight(path, LISTED);
      expect([response.status, response.text]).toEqual([204, '']);
      const { headers } = response;
      expect(headers).toMatchObject({
        'access-control-allow-origin': LISTED,
        'access-control-max-age': '600',
        vary: 'Origin',
        // The budget of the address.
        'x-ratelimit-limit': '300',
        'x-ratelimit-remaining': String(before),
      });
      expect(itemsOf(headers['access-control-allow-headers'])).toEqual(
        expect.arrayContaining([
          'Authorization',
          'Content-Type',
          'Idempotency-Key',
          'If-None-Match',
          'X-Request-Id',
          'traceparent',
        ]),
      );
      const methods = String(headers['access-control-allow-methods']).split(',');
      expect(methods).toEqual(expect.arrayContaining(['GET', 'POST']));
      expectRateLimitHeaders(response);
      expect(await remaining()).toBe(before - 1);
    },
  );

  it.each([
    ['headers of W3C tracing', true, 'POST', 'authorization,baggage,tracestate'],
    ['other headers, for another method', true, 'SEARCH', 'x-datadog-trace-id, sentry-trace'],
    ['a list that is too long', false, 'GET', 'x'.repeat(2_001)],
    ['text that is no name', false, 'GET /', 'x@y'],
  ])('asks for %s: allowed: %s', async (_title, isAllowed, method, names) => {
    const asked = {
      'Access-Control-Request-Method': method,
      'Access-Control-Request-Headers': names,
    };
    const options = { method: 'OPTIONS', headers: { Origin: LISTED, ...asked } };
    const { status, headers } = await send(store.service, '/v1/items', options);
    expect(status).toBe(204);
    const allowed = String(headers['access-control-allow-headers']).split(/, */);
    const methods = String(headers['access-control-allow-methods']).split(/, */);
    expect(allowed).toContain('Idempotency-Key');
    for (const name of names.split(/, */)) expect(allowed.includes(name)).toBe(isAllowed);
    expect(methods.includes(method)).toBe(method !== 'GET /');
  });

  it('401 from an origin that is not listed', async () => {
    const response = await preflight('/v1/items', 'https://evil.example');
    expectError(response, 401, 'missing_api_key');
    expect(corsHeaders(response.headers)).toEqual([]);
  });

  it.each([
    ['OPTIONS', {}],
    ['GET', PREFLIGHT],
    ['POST', PREFLIGHT],
  ])('is not a %s with %j: 401', async (method, headers) => {
    const options = { method, headers: { Origin: LISTED, ...headers } };
    const response = await store.anonymous.send('/v1/items', options);
    expect(response.status).toBe(401);
    expect(response.headers['access-control-allow-origin']).toBe(LISTED);
  });
});

test.each<[status: number, title: string, path: string, options?: RequestOptions]>([
  [200, 'a page', '/v1/items'],
  [304, 'a page that is known', '/v1/items', { headers: { 'If-None-Match': '*' } }],
  [400, 'a bad parameter', '/v1/items?limit=0'],
  [401, 'a bad key', '/v1/items', { headers: { Authorization: 'Bearer x' } }],
  [404, 'an unknown path', '/v1/nope'],
  [404, 'a path that does not decode', '/%'],
  [405, 'another method', '/v1/items', { method: 'PUT' }],
  [415, 'a body of another type', '/v1/items', { method: 'POST', body: 'x' }],
  [417, 'an unknown expectation', '/v1/items', { headers: { Expect: 'tea' } }],
])(
  '%i, %s, is readable with all headers for scripts from listed origins only',
  async (status, _title, path, options = {}) => {
    const from = async (origin?: string) => {
      const headers = { ...options.headers, ...(origin !== undefined && { Origin: origin }) };
      const response = await store.api.send(path, { ...options, headers });
      expect(response.status).toBe(status);
      const vary = status < 400 ? ['Origin', 'Authorization'] : ['Origin'];
      expect(itemsOf(response.headers.vary)).toEqual(vary);
      return response.headers;
    };
    await from();
    for (const origin of [LISTED, OTHER_LISTED]) {
      const headers = await from(origin);
      expect(headers['access-control-allow-origin']).toBe(origin);
      const exposed = itemsOf(headers['access-control-expose-headers']);
      expect(exposed).toEqual(expect.arrayContaining(EXPOSED));
    }
    for (const origin of [
      'https://evil.example',
      'null',
      `${LISTED}.evil.example`,
      `${LISTED}:443`,
      LISTED.toUpperCase(),
    ]) {
      expect([origin, corsHeaders(await from(origin))]).toEqual([origin, []]);
    }
  },
);

test.each([
  ['an incomplete body', 'POST /v1/items', 'Transfer-Encoding: chunked'],
  ['a head that is too large', `GET /v1/items?${'a'.repeat(9_000)}`, 'X-A: a'],
  ['a head that is not valid', 'GET /v1/items', 'Bad header'],
])('the rejection of %s is readable and has the X-Request-Id', async (_title, line, header) => {
  const headers = [`Origin: ${LISTED}`, 'X-Request-Id: mine', header];
  const message = `${requestHead(line, undefined, ...headers)}zzz\r\n`;
  const response = await RawConnection.exchange(store.service, message);
  expect(response.headers).toMatchObject({
    'access-control-allow-origin': LISTED,
    'x-request-id': 'mine',
  });
});

test('without CORS_ORIGINS no response has CORS headers, and a preflight is 401', async () => {
  const service = await startService({ database: store.database });
  const headers = { Origin: LISTED, ...PREFLIGHT };
  const page = await new ApiClient(service, store.owner.key).get('/v1/items', headers);
  const rejected = await send(service, '/v1/items', { method: 'OPTIONS', headers });
  expectError(rejected, 401, 'missing_api_key');
  for (const response of [page, rejected]) {
    expect(corsHeaders(response.headers)).toEqual([]);
    expect(response.headers.vary ?? '').not.toContain('Origin');
  }
});
