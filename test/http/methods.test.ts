import { ApiClient, send } from '../harness/http/client.js';
import { expectError, expectRateLimitHeaders } from '../harness/http/error-response.js';
import { createOwner, createPets } from '../harness/database/factories.js';
import { startService, type TestService } from '../harness/service/service.js';

const READ_ONLY = 'GET, HEAD, OPTIONS';

let service: TestService;
let client: ApiClient;
let petPath: string;

beforeAll(async () => {
  service = await startService();
  client = new ApiClient(service, (await createOwner(service.database)).key);
  const [id] = await createPets(service.database, 30);
  petPath = `/v1/pets/${id}`;
});
afterAll(() => service.close());

const methodsOf = (allow: string | undefined): string[] => (allow ?? '').split(', ').sort();

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
  const options = await client.send(path, { method: 'OPTIONS' });
  expect([options.status, options.text]).toEqual([204, '']);
  expectRateLimitHeaders(options);
  expect(methodsOf(options.headers.allow)).toEqual(allow.split(', '));

  const others = [
    'PUT',
    'PATCH',
    'DELETE',
    'TRACE',
    'PROPFIND',
    ...(allow.includes('POST') ? [] : ['POST']),
  ];
  for (const method of others) {
    const response = await client.send(path, { method });
    expectError(response, 405, 'method_not_allowed');
    expect(response.headers.allow).toBe(options.headers.allow);
  }
});

test('OPTIONS › 401 without an API key, 404 at an unknown path', async () => {
  expectError(await send(service, '/v1/pets', { method: 'OPTIONS' }), 401, 'missing_api_key');
  expectError(await client.send('/v1/nope', { method: 'OPTIONS' }), 404, 'route_not_found');
});

test.each([
  ['/v1/pets', {}],
  ['/v1/pets', { 'If-None-Match': '*' }],
  ['/v1/pets?limit=0', {}],
  ['/v1/nope', {}],
  ['/v1/pets/0', {}],
  ['/health/live', {}],
])('HEAD %s %j › the response to GET without the body', async (path, headers) => {
  const get = await client.send(path, { headers });
  const head = await client.send(path, { method: 'HEAD', headers });
  expect([head.status, head.text]).toEqual([get.status, '']);
  // These headers differ between any two requests.
  const { 'x-request-id': _id, date: _date, ...getHeaders } = get.headers;
  const same = Object.fromEntries(
    Object.entries(getHeaders).filter(([name]) => !name.includes('ratelimit')),
  );
  expect(head.headers).toMatchObject(same);
});

test('HEAD /v1/pets/{petId} › has Content-Length and ETag, and is counted', async () => {
  const get = await client.get(petPath);
  const head = await client.send(petPath, { method: 'HEAD' });
  expect(head.headers).toMatchObject({
    'content-length': String(get.text.length),
    etag: get.headers.etag,
    'x-ratelimit-remaining': String(Number(get.headers['x-ratelimit-remaining']) - 1),
  });
});
