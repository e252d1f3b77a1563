import { ApiClient, type ApiResponse, send, type RequestOptions } from '../harness/http/client.js';
import { expectError, expectRateLimitHeaders } from '../harness/http/error-response.js';
import { createOwner, createItems } from '../harness/database/factories.js';
import { RawConnection, requestHead } from '../harness/http/raw-connection.js';
import { useStore } from '../harness/http/store.js';
import { startService } from '../harness/service/service.js';

const LARGE = Buffer.alloc(102_401, 'a');
const JSON_TYPE = { 'Content-Type': 'application/json' };
const BAD_KEY = { 'Idempotency-Key': 'not one' };
const READ_ONLY = 'GET, HEAD, OPTIONS';

const store = useStore({
  env: { ANONYMOUS_REQUESTS_PER_MINUTE: '1000000', BAN_AFTER_REJECTIONS: '0' },
});
/** By name: a valid API key, that of an owner over the limit, none, and a malformed one. */
const callers: Record<string, ApiClient> = {};

beforeAll(async () => {
  const { service, database } = store;
  const limits = { perMinute: 1, perDay: 10 };
  callers['valid'] = store.api;
  callers['spent'] = new ApiClient(service, (await createOwner(database, { limits })).key);
  callers['none'] = store.anonymous;
  callers['malformed'] = new ApiClient(service, 'malformed');
  await callers['spent'].get('/v1/items');
  await createItems(database, 30);
});

const post = (body?: RequestOptions['body'], headers = {}): RequestOptions => ({
  method: 'POST',
  headers,
  body,
});
const postJson = (body: string | Buffer): RequestOptions => post(body, JSON_TYPE);
const method = (method: string): RequestOptions => ({ method });

/** Sends a request target that HTTP clients cannot send. */
const sendTarget = (target: string, method = 'GET') =>
  RawConnection.exchange(store.service, requestHead(`${method} ${target}`, store.owner.key));

test.each<[status: number, title: string, path: string, options?: RequestOptions]>([
  [200, 'GET', '/v1/items'],
  [200, 'HEAD', '/v1/items', method('HEAD')],
  [204, 'OPTIONS', '/v1/items', method('OPTIONS')],
  [304, 'GET with If-None-Match', '/v1/items', { headers: { 'If-None-Match': '*' } }],
  [201, 'POST', '/v1/items', postJson('{"name":"Frank","categoryId":1}')],
])(
  '%i %s › the rate limit headers, a request id and caching',
  async (status, _title, path, options = {}) => {
    const response = await store.api.send(path, options);
    expect(response.status).toBe(status);
    expectRateLimitHeaders(response);
    const isRead = status === 200 || status === 304;
    expect(response.headers).toMatchObject(
      isRead
        ? { 'cache-control': 'private, no-cache', vary: 'Authorization' }
        : { 'cache-control': 'no-store' },
    );
  },
);

test.each([
  '/v1/items?limit=1',
  'http://pets.example/v1/items?limit=1',
  'HTTPS://pets/v1/items?limit=1',
])('200 GET %s, in origin-form and in absolute-form', async (target) => {
  const response = await sendTarget(target);
  expect(JSON.parse(response.text)).toHaveLength(1);
  expectRateLimitHeaders(response);
});

// Each request fails the check that its title names first, and all later checks.
test.each<[string, number, string, caller: string, path: string, RequestOptions?]>([
  ['limit before path', 429, 'rate_limit_exceeded', 'spent', '/v1/nope'],
  ['limit before method', 429, 'rate_limit_exceeded', 'spent', '/v1/items', method('DELETE')],
  ['limit before body', 429, 'rate_limit_exceeded', 'spent', '/v1/items', post(LARGE)],
  ['limit before decoding', 429, 'rate_limit_exceeded', 'spent', '/%'],
  ['API key before path', 401, 'missing_api_key', 'none', '/v1/nope'],
  ['API key before other paths', 401, 'missing_api_key', 'none', '/nope'],
  ['API key before decoding', 401, 'missing_api_key', 'none', '/%'],
  ['API key before method', 401, 'invalid_api_key', 'malformed', '/v1/items', method('PUT')],
  ['API key before OPTIONS', 401, 'missing_api_key', 'none', '/', method('OPTIONS')],
  ['API key before body', 401, 'missing_api_key', 'none', '/v1/items', post(LARGE)],
  ['API key before parameters', 401, 'missing_api_key', 'none', '/v1/items?limit=0'],
  ['API key before the item', 401, 'missing_api_key', 'none', '/v1/items/1'],
  ['API key before form', 401, 'missing_api_key', 'none', '/v1/items', post('', BAD_KEY)],
  ['path before media type', 404, 'route_not_found', 'valid', '/v1/nope', post(LARGE)],
  ['path before form', 404, 'route_not_found', 'valid', '/v1/nope', post(LARGE, BAD_KEY)],
  [
    'method before parameters, form and media type',
    405,
    'method_not_allowed',
    'valid',
    '/v1/items?limit=0',
    { method: 'PUT', headers: BAD_KEY, body: LARGE },
  ],
  ['form before type', 400, 'invalid_request', 'valid', '/v1/items', post(LARGE, BAD_KEY)],
  ['type before size', 415, 'unsupported_media_type', 'valid', '/v1/items', post(LARGE)],
  [
    'encoding before size',
    415,
    'unsupported_media_type',
    'valid',
    '/v1/items',
    post(LARGE, { ...JSON_TYPE, 'Content-Encoding': 'zstd' }),
  ],
  ['size before JSON', 413, 'payload_too_large', 'valid', '/v1/items', postJson(LARGE)],
  ['JSON before fields', 400, 'malformed_json', 'valid', '/v1/items', postJson('{"name":1')],
  ['fields', 400, 'invalid_request', 'valid', '/v1/items', postJson('{"name":1}')],
  ['parameters', 400, 'invalid_request', 'valid', '/v1/items?limit=0'],
  ['cursor', 400, 'invalid_cursor', 'valid', '/v1/items?cursor=nonsense'],
  ['item', 404, 'item_not_found', 'valid', '/v1/items/999999'],
  ['expectation', 417, 'invalid_request', 'spent', '/v1/items', { headers: { Expect: 'tea' } }],
])('%s: %i %s', async (_title, status, code, caller, path, options = {}) => {
  const response = await callers[caller]!.send(path, options);
  expectError(response, status, code);
  if (status === 429) expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
});

test.each([
  '/nope',
  '/v1',
  '/v2/pets',
  '/pets',
  '/v1/items/',
  '/v1/items/?limit=1',
  '/v1/items/1/',
  '/v1/items;a=1',
  '/v1/items.json',
  '/v1//pets',
  '//v1/items',
  '/V1/pets',
  '/v1/Pets',
  '/v1%2Fpets',
  '/v1/p%65ts',
  '/v1/items/1/photos',
  '/v1/../v1/items',
  '/v1/items/%E0%A4%A',
  '/%',
  '/v1/items#top',
  '/metrics',
  '/health/live/',
  'ftp://pets/v1/items',
  'ftp://[/v1/items',
  'http://pets/nope',
  '*',
  '/v1/nope',
])('404 route_not_found: %s', async (target) => {
  const method = target === '*' || target === '/v1/nope' ? 'OPTIONS' : 'GET';
  const message = expectError(await sendTarget(target, method), 404, 'route_not_found');
  const { url } = store.service;
  expect(message).toContain(`slash. ${url}/openapi.json lists them, and ${url}/docs shows them.`);
});

test.each([
  ['/v1/items', 'GET, HEAD, OPTIONS, POST'],
  ['/v1/items/1'],
  ['/v1/items/not-a-number'],
  ['/health/live'],
  ['/health/ready'],
  ['/docs'],
  ['/openapi.json'],
  ['/openapi.yaml'],
  ['/'],
])('OPTIONS %s › 204, other methods 405, both with Allow', async (path = '', allow = READ_ONLY) => {
  const options = await store.api.send(path, method('OPTIONS'));
  expect([options.status, options.text]).toEqual([204, '']);
  expectRateLimitHeaders(options);
  expect(options.headers.allow?.split(', ').sort()).toEqual(allow.split(', '));
  const others = ['PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'POST'];
  for (const other of others.filter((name) => !allow.includes(name))) {
    const response = await store.api.send(path, method(other));
    expectError(response, 405, 'method_not_allowed');
    expect(response.headers.allow).toBe(options.headers.allow);
  }
});

test.each([
  ['/v1/items', {}],
  ['/v1/items', { 'If-None-Match': '*' }],
  ['/v1/items?limit=0', {}],
  ['/v1/nope', {}],
  ['/v1/items/0', {}],
  ['/v1/items/1', {}],
  ['/health/live', {}],
])('HEAD %s %j › the response to GET without the body, and is counted', async (path, headers) => {
  const get = await store.api.send(path, { headers });
  const head = await store.api.send(path, { method: 'HEAD', headers });
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
    database: store.database,
    env: { ANONYMOUS_REQUESTS_PER_MINUTE: '1' },
  });
  expectError(await send(limited, '/v1/items'), 401, 'missing_api_key');
  expectError(await send(limited, '/v1/nope'), 429, 'rate_limit_exceeded');
  for (const path of ['/health/live', '/health/ready']) {
    const { status, headers, json } = await send(limited, path);
    expect([status, json.status]).toEqual([200, 'ok']);
    const common = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
    expect(headers).toMatchObject(common);
    expect(Object.keys(headers).filter((name) => name.includes('ratelimit'))).toEqual([]);
  }
  const { checks } = (await send(limited, '/health/ready')).json;
  expect(checks).toEqual(expect.objectContaining({ database: 'up', shutdown: 'no' }));
  expect(checks).not.toHaveProperty('redis');
  await limited.close();
});
