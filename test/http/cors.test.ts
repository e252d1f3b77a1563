import { ApiClient, send, type RequestOptions } from '../harness/http/client.js';
import { expectError, expectRateLimitHeaders } from '../harness/http/error-response.js';
import { createOwner, createPets } from '../harness/database/factories.js';
import { RawConnection } from '../harness/http/raw-connection.js';
import { featureFile } from '../harness/http/store.js';
import { startService, type TestService } from '../harness/service/service.js';

const LISTED = 'https://app.example.org';
const OTHER_LISTED = 'http://localhost:5173';
const PREFLIGHT = {
  'Access-Control-Request-Method': 'POST',
  'Access-Control-Request-Headers': 'authorization',
};
const EXPOSED = [
  'Accept-Encoding',
  'Allow',
  'Cache-Control',
  'Deprecation',
  'ETag',
  'Idempotent-Replayed',
  'Link',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Sunset',
  'Vary',
  'WWW-Authenticate',
  'X-Content-Type-Options',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
];

const itemsOf = (header: unknown): string[] => String(header).split(', ');
const corsHeaders = (headers: object): string[] =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));

describe('with CORS_ORIGINS', () => {
  let service: TestService;
  let client: ApiClient;
  let petPath: string;

  beforeAll(async () => {
    service = await startService({
      env: { CORS_ORIGINS: `${LISTED}, ${OTHER_LISTED}` },
      features: featureFile('responses'),
    });
    client = new ApiClient(service, (await createOwner(service.database)).key);
    petPath = `/v1/pets/${(await createPets(service.database, 1))[0]}`;
  });
  afterAll(() => service.close());

  const preflight = (path: string, origin: string) =>
    send(service, path, { method: 'OPTIONS', headers: { Origin: origin, ...PREFLIGHT } });

  test.each(['/v1/pets', '/v1/pets/1', '/v1/nope'])(
    'OPTIONS %s › 204 for a preflight without an API key',
    async (path) => {
      const response = await preflight(path, LISTED);
      expect(response.status).toBe(204);
      expect(response.headers['access-control-allow-origin']).toBe(LISTED);
      expect(itemsOf(response.headers['access-control-allow-headers'])).toEqual(
        expect.arrayContaining([
          ...['Authorization', 'Content-Type', 'Idempotency-Key', 'If-None-Match'],
          ...['X-Request-Id', 'traceparent'],
        ]),
      );
      const methods = String(response.headers['access-control-allow-methods']).split(',');
      expect(methods).toEqual(expect.arrayContaining(['GET', 'POST']));
      expect(response.headers['access-control-max-age']).toBe('600');
      expect(response.headers.vary).toBe('Origin');
      expectRateLimitHeaders(response);
    },
  );

  test('a preflight is not counted, and its headers show the window of its address', async () => {
    const before = Number((await send(service, '/v1/pets')).headers['x-ratelimit-remaining']);
    const { headers } = await preflight('/v1/pets', LISTED);
    expect(headers['x-ratelimit-limit']).toBe('300');
    expect(Number(headers['x-ratelimit-remaining'])).toBe(before);
  });

  test('401 for a preflight from an origin that is not listed', async () => {
    const response = await preflight('/v1/pets', 'https://evil.example');
    expectError(response, 401, 'missing_api_key');
    expect(corsHeaders(response.headers)).toEqual([]);
  });

  test('204 for a preflight at a route for all methods, whose handler does not run', async () => {
    const response = await preflight('/v1/values/any-method', LISTED);
    expect([response.status, response.text]).toEqual([204, '']);
    expect((await client.get('/v1/values/any-method')).text).toBe('{}');
  });

  test('OPTIONS without Access-Control-Request-Method is not a preflight', async () => {
    const response = await send(service, '/v1/pets', {
      method: 'OPTIONS',
      headers: { Origin: LISTED },
    });
    expectError(response, 401, 'missing_api_key');
  });

  test.each(['GET', 'HEAD', 'POST', 'PUT'])(
    '401 for a %s without an API key that has the headers of a preflight',
    async (method) => {
      const response = await send(service, petPath, {
        method,
        headers: { Origin: LISTED, ...PREFLIGHT },
      });
      expect(response.status).toBe(401);
      expect(response.headers['access-control-allow-origin']).toBe(LISTED);
    },
  );

  test.each<[status: number, title: string, path: string, options?: RequestOptions]>([
    [200, 'a page', '/v1/pets'],
    [304, 'a page that is known', '/v1/pets', { headers: { 'If-None-Match': '*' } }],
    [400, 'a bad parameter', '/v1/pets?limit=0'],
    [401, 'a bad key', '/v1/pets', { headers: { Authorization: 'Bearer x' } }],
    [404, 'an unknown path', '/v1/nope'],
    [404, 'a path that does not decode', '/%'],
    [405, 'another method', '/v1/pets', { method: 'PUT' }],
    [415, 'a body of another type', '/v1/pets', { method: 'POST', body: 'x' }],
    [417, 'an unknown expectation', '/v1/pets', { headers: { Expect: 'tea' } }],
  ])(
    '%i, %s, is readable with all headers for scripts from listed origins only',
    async (status, _title, path, options = {}) => {
      const from = async (origin: string) => {
        const headers = { ...options.headers, Origin: origin };
        const response = await client.send(path, { ...options, headers });
        expect(response.status).toBe(status);
        const vary = status < 400 ? ['Origin', 'Authorization'] : ['Origin'];
        expect(itemsOf(response.headers.vary)).toEqual(vary);
        return response.headers;
      };
      for (const origin of [LISTED, OTHER_LISTED]) {
        const headers = await from(origin);
        expect(headers['access-control-allow-origin']).toBe(origin);
        expect(itemsOf(headers['access-control-expose-headers']).sort()).toEqual(EXPOSED);
      }
      for (const origin of [
        ...['https://evil.example', 'null', `${LISTED}.evil.example`, `${LISTED}:443`],
        LISTED.toUpperCase(),
      ]) {
        expect([origin, corsHeaders(await from(origin))]).toEqual([origin, []]);
      }
    },
  );

  test('the rejection of an incomplete body is readable', async () => {
    const response = await RawConnection.exchange(
      service,
      `POST /v1/pets HTTP/1.1\r\nHost: pets\r\nOrigin: ${LISTED}\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n`,
    );
    expect(response.headers['access-control-allow-origin']).toBe(LISTED);
  });
});

test('without CORS_ORIGINS no response has CORS headers, and a preflight is 401', async () => {
  const service = await startService();
  const { key } = await createOwner(service.database);
  const headers = { Origin: LISTED, ...PREFLIGHT };
  const page = await new ApiClient(service, key).get('/v1/pets', headers);
  const preflight = await send(service, '/v1/pets', { method: 'OPTIONS', headers });
  expectError(preflight, 401, 'missing_api_key');
  for (const response of [page, preflight]) {
    expect(corsHeaders(response.headers)).toEqual([]);
    expect(response.headers.vary ?? '').not.toContain('Origin');
  }
  await service.close();
});
