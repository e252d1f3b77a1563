import { ApiClient, type ApiResponse, send, type RequestOptions } from '../harness/http/client.js';
import { expectError, expectRateLimitHeaders } from '../harness/http/error-response.js';
import { createDatabase } from '../harness/database/database.js';
import { createOwner, createPets } from '../harness/database/factories.js';
import { RawConnection } from '../harness/http/raw-connection.js';
import { metric } from '../harness/service/metrics.js';
import { startService, type TestService } from '../harness/service/service.js';

const LARGE = Buffer.alloc(102_401, 'a');
const JSON_TYPE = { 'Content-Type': 'application/json' };
const BAD_KEY = { 'Idempotency-Key': 'not one' };
const READ_ONLY = 'GET, HEAD, OPTIONS';

let service: TestService;
let client: ApiClient;
/** With the API key of an owner over the limit, without a key, and with a malformed one. */
let spent: ApiClient;
let anonymous: ApiClient;
let malformed: ApiClient;
let key: string;

beforeAll(async () => {
  service = await startService({
    env: { ANONYMOUS_REQUESTS_PER_MINUTE: '1000000', BAN_AFTER_REJECTIONS: '0' },
  });
  ({ key } = await createOwner(service.database));
  client = new ApiClient(service, key);
  const limits = { perMinute: 1, perDay: 10 };
  spent = new ApiClient(service, (await createOwner(service.database, { limits })).key);
  anonymous = new ApiClient(service);
  malformed = new ApiClient(service, 'aas_x');
  await spent.get('/v1/pets');
  await createPets(service.database, 30);
});
afterAll(() => service.close());

const post = (body?: RequestOptions['body'], headers = {}): RequestOptions => ({
  method: 'POST',
  headers,
  body,
});
const postJson = (body: string | Buffer): RequestOptions => post(body, JSON_TYPE);
const method = (method: string): RequestOptions => ({ method });

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
  const known = { headers: { 'If-None-Match': '*' } };

  test.each<[status: number, title: string, path: string, options?: RequestOptions]>([
    [200, 'GET', '/v1/pets'],
    [200, 'HEAD', '/v1/pets', method('HEAD')],
    [204, 'OPTIONS', '/v1/pets', method('OPTIONS')],
    [304, 'GET with If-None-Match', '/v1/pets', known],
    [201, 'POST', '/v1/pets', postJson('{"name":"Frank","categoryId":1}')],
  ])('%i %s', async (status, _title, path, options = {}) => {
    const response = await client.send(path, options);
    expect(response.status).toBe(status);
    expectRateLimitHeaders(response);
    if (options.method !== undefined) return;
    // It is private and must be revalidated.
    const { headers } = response;
    expect(headers).toMatchObject({ 'cache-control': 'private, no-cache', vary: 'Authorization' });
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
});

describe('every error has an Error body, the rate limit headers and no-store', () => {
  test.each<[status: number, code: string, path: string, options?: RequestOptions]>([
    [400, 'invalid_request', '/v1/pets?limit=0'],
    [400, 'invalid_cursor', '/v1/pets?cursor=nonsense'],
    [400, 'invalid_request', '/v1/pets', post()],
    [400, 'invalid_request', '/v1/pets', postJson('{"name":1}')],
    [404, 'pet_not_found', '/v1/pets/999999'],
    [415, 'unsupported_media_type', '/v1/pets', post('x', { 'Content-Type': 'text/plain' })],
    [417, 'invalid_request', '/v1/pets', { headers: { Expect: 'tea' } }],
  ])('%i %s: %s %j', async (status, code, path, options = {}) => {
    const response = await client.send(path, options);
    expectError(response, status, code);
  });

  // Each request fails the check that its title names first, and all later checks.
  test.each<[string, number, string, () => ApiClient, string, RequestOptions?]>([
    ['limit before path', 429, 'rate_limit_exceeded', () => spent, '/v1/nope'],
    ['limit before method', 429, 'rate_limit_exceeded', () => spent, '/v1/pets', method('DELETE')],
    ['limit before body', 429, 'rate_limit_exceeded', () => spent, '/v1/pets', post(LARGE)],
    ['limit before decoding', 429, 'rate_limit_exceeded', () => spent, '/%'],
    ['API key before path', 401, 'missing_api_key', () => anonymous, '/v1/nope'],
    ['API key before other paths', 401, 'missing_api_key', () => anonymous, '/nope'],
    ['API key before decoding', 401, 'missing_api_key', () => anonymous, '/%'],
    ['API key before method', 401, 'invalid_api_key', () => malformed, '/v1/pets', method('PUT')],
    ['API key before OPTIONS', 401, 'missing_api_key', () => anonymous, '/', method('OPTIONS')],
    ['API key before body', 401, 'missing_api_key', () => anonymous, '/v1/pets', post(LARGE)],
    ['API key before parameters', 401, 'missing_api_key', () => anonymous, '/v1/pets?limit=0'],
    ['API key before the animal', 401, 'missing_api_key', () => anonymous, '/v1/pets/1'],
    ['API key before form', 401, 'missing_api_key', () => anonymous, '/v1/pets', post('', BAD_KEY)],
    ['path before media type', 404, 'route_not_found', () => client, '/v1/nope', post(LARGE)],
    ['path before form', 404, 'route_not_found', () => client, '/v1/nope', post(LARGE, BAD_KEY)],
    [
      'method before parameters, form and media type',
      405,
      'method_not_allowed',
      () => client,
      '/v1/pets?limit=0',
      { method: 'PUT', headers: BAD_KEY, body: LARGE },
    ],
    ['form before type', 400, 'invalid_request', () => client, '/v1/pets', post(LARGE, BAD_KEY)],
    ['type before size', 415, 'unsupported_media_type', () => client, '/v1/pets', post(LARGE)],
    [
      'encoding before size',
      415,
      'unsupported_media_type',
      () => client,
      '/v1/pets',
      post(LARGE, { ...JSON_TYPE, 'Content-Encoding': 'zstd' }),
    ],
    ['size before JSON', 413, 'payload_too_large', () => client, '/v1/pets', postJson(LARGE)],
    ['JSON before fields', 400, 'malformed_json', () => client, '/v1/pets', postJson('{"name":1')],
  ])('%s: %i %s', async (_title, status, code, caller, path, options = {}) => {
    const response = await caller().send(path, options);
    expectError(response, status, code);
    if (status === 429) expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
  });

  test.each([
    ['a path outside of /v1', '/nope'],
    ['the bare version', '/v1'],
    ['another version', '/v2/pets'],
    ['no version', '/pets'],
    ['a trailing slash', '/v1/pets/'],
    ['a trailing slash before the query', '/v1/pets/?limit=1'],
    ['a trailing slash after an animal', '/v1/pets/1/'],
    ['a parameter of the path', '/v1/pets;a=1'],
    ['an extension', '/v1/pets.json'],
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
    ['OPTIONS of the server', '*', 'OPTIONS'],
    ['OPTIONS of an unknown path', '/v1/nope', 'OPTIONS'],
  ])('404 route_not_found: %s', async (_title, target, method = 'GET') => {
    expectError(await sendTarget(target, method), 404, 'route_not_found');
  });
});

test.each([
  ['/v1/pets', 'GET, HEAD, OPTIONS, POST'],
  ['/v1/pets/1', READ_ONLY],
  ['/v1/pets/not-a-number', READ_ONLY],
  ['/health/live', READ_ONLY],
  ['/health/ready', READ_ONLY],
  ['/docs', READ_ONLY],
  ['/openapi.json', READ_ONLY],
  ['/openapi.yaml', READ_ONLY],
  ['/', READ_ONLY],
])('OPTIONS %s › 204, other methods 405, both with Allow: %s', async (path, allow) => {
  const options = await client.send(path, method('OPTIONS'));
  expect([options.status, options.text]).toEqual([204, '']);
  expectRateLimitHeaders(options);
  expect(options.headers.allow?.split(', ').sort()).toEqual(allow.split(', '));

  const others = ['PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'POST'];
  for (const other of others.filter((name) => !allow.includes(name))) {
    const response = await client.send(path, method(other));
    expectError(response, 405, 'method_not_allowed');
    expect(response.headers.allow).toBe(options.headers.allow);
  }
});

test.each([
  ['/v1/pets', {}],
  ['/v1/pets', { 'If-None-Match': '*' }],
  ['/v1/pets?limit=0', {}],
  ['/v1/nope', {}],
  ['/v1/pets/0', {}],
  ['/v1/pets/1', {}],
  ['/health/live', {}],
])('HEAD %s %j › the response to GET without the body, and is counted', async (path, headers) => {
  const get = await client.send(path, { headers });
  const head = await client.send(path, { method: 'HEAD', headers });
  expect([head.status, head.text]).toEqual([get.status, '']);
  // These headers differ between any two requests.
  const { 'x-request-id': _id, date: _date, ...getHeaders } = get.headers;
  const same = Object.entries(getHeaders).filter(([name]) => !name.includes('ratelimit'));
  expect(head.headers).toMatchObject(Object.fromEntries(same));
  const remaining = ({ headers }: ApiResponse) => Number(headers['x-ratelimit-remaining'] ?? NaN);
  if (path !== '/health/live') expect(remaining(head)).toBe(remaining(get) - 1);
});

test('the limit of an address is checked before the API key, and not for health probes', async () => {
  const limited = await startService({
    database: service.database,
    env: { ANONYMOUS_REQUESTS_PER_MINUTE: '1' },
  });
  expectError(await send(limited, '/v1/pets'), 401, 'missing_api_key');
  expectError(await send(limited, '/v1/nope'), 429, 'rate_limit_exceeded');
  for (const path of ['/health/live', '/health/ready']) {
    const { status, headers, json } = await send(limited, path);
    expect([status, json.status]).toEqual([200, 'ok']);
    expect(headers).toMatchObject({ 'cache-control': 'no-store' });
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff' });
    expect(Object.keys(headers).filter((name) => name.includes('ratelimit'))).toEqual([]);
  }
  const { checks } = (await send(limited, '/health/ready')).json;
  expect(checks).toMatchObject({ database: 'up', shutdown: 'no' });
  expect(checks).not.toHaveProperty('redis');
  await limited.close();
});

test('GET /health/ready › 200 and "degraded" while the database accepts no writes', async () => {
  const database = await createDatabase();
  await database.query(`ALTER DATABASE "${database.name}" SET default_transaction_read_only = on`);
  const readOnly = await startService({ database });
  try {
    const { status, json } = await send(readOnly, '/health/ready');
    expect({ status, json }).toMatchObject({
      status: 200,
      json: { status: 'degraded', checks: { database: 'read-only' } },
    });
    expect(await metric(readOnly, 'pets_ready')).toBe(1);
    expect(await metric(readOnly, 'pets_component_up{component="database"}')).toBe(1);
    expect(await readOnly.metrics()).toContain(
      'pets_component_up{component="database_writes"} 0\n',
    );
  } finally {
    await readOnly.close();
    await database.close();
  }
});
