import { join } from 'node:path';
import { ApiClient, type ApiResponse, type RequestOptions } from '../harness/http/client.js';
import {
  type AnyCode,
  expectError,
  expectRateLimitHeaders,
} from '../harness/http/error-response.js';
import { createOwner, createPets } from '../harness/database/factories.js';
import { RawConnection } from '../harness/http/raw-connection.js';
import { START_MS, startService, type TestService } from '../harness/service/service.js';

const PET = { name: 'Frank', categoryId: 1 };
const LARGE = Buffer.alloc(102_401, 'a');

let service: TestService;
let client: ApiClient;
let key: string;
let petId: string;

beforeAll(async () => {
  service = await startService({
    features: join(__dirname, '../harness/features/failing.mjs'),
    env: { ANONYMOUS_REQUESTS_PER_MINUTE: '1000000', BAN_AFTER_REJECTIONS: '0' },
  });
  ({ key } = await createOwner(service.database));
  client = new ApiClient(service, key);
  [petId = ''] = await createPets(service.database, 2);
});
afterAll(() => service.close());

/** Sends a request target that HTTP clients cannot send. */
function sendTarget(
  target: string,
  method = 'GET',
): Promise<{ status: number; headers: ApiResponse['headers']; text: string }> {
  return RawConnection.exchange(
    service,
    `${method} ${target} HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer ${key}\r\n\r\n`,
  );
}

describe('every successful response has the rate limit headers and a request id', () => {
  test.each<[status: number, title: string, path: () => string, options?: RequestOptions]>([
    [200, 'GET /v1/pets', () => '/v1/pets'],
    [200, 'GET /v1/pets/{petId}', () => `/v1/pets/${petId}`],
    [200, 'HEAD /v1/pets', () => '/v1/pets', { method: 'HEAD' }],
    [204, 'OPTIONS /v1/pets', () => '/v1/pets', { method: 'OPTIONS' }],
    [
      304,
      'GET /v1/pets with If-None-Match',
      () => '/v1/pets',
      { headers: { 'If-None-Match': '*' } },
    ],
    [
      201,
      'POST /v1/pets',
      () => '/v1/pets',
      {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(PET),
      },
    ],
  ])('%i %s', async (status, _title, path, options = {}) => {
    const response = await client.send(path(), options);
    expect(response.status).toBe(status);
    expectRateLimitHeaders(response);
  });

  test.each([
    '/v1/pets?limit=1',
    `http://pets.example/v1/pets?limit=1`,
    'HTTPS://pets/v1/pets?limit=1',
  ])('200 GET %s, in origin-form and in absolute-form', async (target) => {
    const response = await sendTarget(target);
    expect(JSON.parse(response.text)).toHaveLength(1);
    expectRateLimitHeaders(response);
  });

  test('200 and 304 are private and must be revalidated', async () => {
    for (const headers of [{}, { 'If-None-Match': '*' }]) {
      expect((await client.get('/v1/pets', headers)).headers).toMatchObject({
        'cache-control': 'private, no-cache',
        vary: 'Authorization',
      });
    }
  });
});

describe('every error has an Error body, the rate limit headers and no-store', () => {
  const post = (headers: Record<string, string>, body: RequestOptions['body']): RequestOptions => ({
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body,
  });

  test.each<[status: number, code: AnyCode, title: string, path: string, options?: RequestOptions]>(
    [
      [400, 'invalid_request', 'a bad limit', '/v1/pets?limit=0'],
      [400, 'invalid_cursor', 'a bad cursor', '/v1/pets?cursor=nonsense'],
      [400, 'invalid_request', 'no body', '/v1/pets', { method: 'POST' }],
      [400, 'invalid_request', 'invalid fields', '/v1/pets', post({}, '{"name":1}')],
      [400, 'malformed_json', 'a body that does not parse', '/v1/pets', post({}, '{"name"')],
      [401, 'missing_api_key', 'no key', '/v1/pets', { headers: { Authorization: '' } }],
      [401, 'invalid_api_key', 'a bad key', '/v1/pets', { headers: { Authorization: 'Bearer x' } }],
      [404, 'pet_not_found', 'no such animal', '/v1/pets/999999'],
      [404, 'route_not_found', 'no such path', '/v1/nope'],
      [405, 'method_not_allowed', 'no such method', '/v1/pets', { method: 'DELETE' }],
      [413, 'payload_too_large', 'a large body', '/v1/pets', post({}, LARGE)],
      [
        415,
        'unsupported_media_type',
        'another type',
        '/v1/pets',
        post({ 'Content-Type': 'text/plain' }, 'x'),
      ],
      [
        417,
        'invalid_request',
        'an unknown expectation',
        '/v1/pets',
        { headers: { Expect: 'tea' } },
      ],
      [500, 'internal_error', 'a handler that throws', '/v1/failing/error'],
      [500, 'internal_error', 'a handler whose promise rejects', '/v1/failing/rejection'],
      [500, 'internal_error', 'a handler that throws a text', '/v1/failing/text'],
      [500, 'internal_error', 'a result that cannot be serialized', '/v1/failing/unprintable'],
    ],
  )('%i %s: %s', async (status, code, _title, path, options = {}) => {
    const message = expectError(await client.send(path, options), status, code);
    expect(message).not.toContain('secret');
  });

  test.each([
    ['a path outside of /v1', '/nope'],
    ['the bare version', '/v1'],
    ['another version', '/v2/pets'],
    ['no version', '/pets'],
    ['a trailing slash', '/v1/pets/'],
    ['a double slash', '/v1//pets'],
    ['a leading double slash', '//v1/pets'],
    ['wrong case of the version', '/V1/pets'],
    ['wrong case', '/v1/Pets'],
    ['an encoded slash', '/v1%2Fpets'],
    ['an encoded letter', '/v1/p%65ts'],
    ['a path below an animal', '/v1/pets/1/photos'],
    ['dot segments', '/v1/../v1/pets'],
    ['a path that cannot be decoded', '/v1/pets/%E0%A4%A'],
    ['a single percent sign', '/%'],
    ['a fragment', '/v1/pets#top'],
    ['a path of the metrics listener', '/metrics'],
    ['a trailing slash after a health path', '/health/live/'],
    ['another scheme', 'ftp://pets/v1/pets'],
    ['another scheme with an authority that cannot be parsed', 'ftp://[/v1/pets'],
    ['an absolute-form target with an unknown path', 'http://pets/nope'],
  ])('404 route_not_found: %s', async (_title, target) => {
    expectError(await sendTarget(target), 404, 'route_not_found');
  });

  test('404 route_not_found: OPTIONS *', async () => {
    expectError(await sendTarget('*', 'OPTIONS'), 404, 'route_not_found');
  });

  test('401 and not 404 at an unknown path without an API key', async () => {
    for (const path of ['/v1/nope', '/nope', '/%', '//']) {
      expectError(await new ApiClient(service).get(path), 401, 'missing_api_key');
    }
  });

  test('429 with Retry-After at existing and unknown paths', async () => {
    const owner = await createOwner(service.database, { limits: { perMinute: 1, perDay: 10 } });
    const limited = new ApiClient(service, owner.key);
    await limited.get('/v1/pets');
    for (const path of ['/v1/pets', '/v1/nope', '/%']) {
      const response = await limited.get(path);
      expectError(response, 429, 'rate_limit_exceeded');
      expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
    }
  });

  test('500: the log contains the cause and the id of the request', async () => {
    const { headers } = await client.get('/v1/failing/error');
    const line = await service.waitForLog(
      ({ requestId, code }) => requestId === headers['x-request-id'] && code === 'internal_error',
    );
    expect(line).toMatchObject({
      level: 50,
      err: {
        type: 'TypeError',
        message: expect.stringContaining('secret'),
        stack: expect.any(String),
      },
    });
  });

  test('500: no ETag, even if the handler set one', async () => {
    expect((await client.get('/v1/failing/error')).headers).not.toHaveProperty('etag');
  });

  test('410 from the sunset on', async () => {
    await service.setClock(Date.parse('2030-12-05T00:00:00.000Z'));
    const response = await client.get(`/v1/pets/${petId}`);
    expectError(response, 410, 'endpoint_removed');
    await service.setClock(START_MS);
  });
});
