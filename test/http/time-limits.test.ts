import { ApiClient } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { createOwner } from '../harness/database/factories.js';
import { RawConnection, requestHead } from '../harness/http/raw-connection.js';
import { startService, type TestService } from '../harness/service/service.js';

const PET = '{"name":"Frank","categoryId":1}';
/** The limit of these tests, the server's check interval, and a margin. */
const LATEST_MS = 300 + 1_000 + 1_500;

let service: TestService;
let key: string;

beforeAll(async () => {
  service = await startService({
    env: {
      HEADERS_TIMEOUT_SECONDS: '0.3',
      REQUEST_TIMEOUT_SECONDS: '0.3',
      KEEP_ALIVE_TIMEOUT_SECONDS: '0.3',
      ANONYMOUS_REQUESTS_PER_MINUTE: '1000000',
    },
  });
  ({ key } = await createOwner(service.database));
});
afterAll(() => service.close());

const head = (...headers: string[]): string => requestHead('POST /v1/pets', key, ...headers);
const BODY = ['Content-Type: application/json', `Content-Length: ${PET.length}`];

test.concurrent.each<[title: string, limit: 'address' | 'owner', bytes: () => string]>([
  ['no byte', 'address', () => ''],
  ['half a request line', 'address', () => 'GET /v1/pe'],
  ['half a head', 'address', () => requestHead('POST /v1/pets').slice(0, -2)],
  ['a head without its body', 'owner', () => head(...BODY)],
  ['half a body', 'owner', () => head(...BODY) + PET.slice(0, 9)],
  [
    'half a chunk',
    'owner',
    () => `${head('Content-Type: application/json', 'Transfer-Encoding: chunked')}9\r\n{"`,
  ],
  ['no body after 100 Continue', 'owner', () => head(...BODY, 'Expect: 100-continue')],
])('408 request_timeout: %s', async (_title, limit, bytes) => {
  const startedAt = performance.now();
  const connection = await RawConnection.open(service, bytes());
  let response = await connection.response();
  if (response.status === 100) response = await connection.response();
  expectError(response, 408, 'request_timeout');
  expect(performance.now() - startedAt).toBeLessThan(LATEST_MS);
  // Counted once: for the owner if the API key was read, otherwise for the address.
  expect(response.headers['ratelimit-policy']).toContain(
    limit === 'owner' ? '"day"' : '"minute";q=1000000;w=60',
  );
  expect(response.headers['connection']).toBe('close');
  await connection.serverEnd();
});

test('408 for a client that sends a byte now and then', async () => {
  const connection = await RawConnection.open(service, 'GET /v1/pets HTTP/1.1\r\n');
  const drip = setInterval(() => connection.write('X-A: b\r\n'), 50);
  expectError(await connection.response(), 408, 'request_timeout');
  clearInterval(drip);
  connection.close();
});

test('401 before a slow body has arrived', async () => {
  const connection = await RawConnection.open(
    service,
    requestHead('POST /v1/pets', undefined, ...BODY) + PET.slice(0, 9),
  );
  expectError(await connection.response(), 401, 'missing_api_key');
  await connection.serverEnd();
});

test('a kept-alive connection closes without a response when no request follows', async () => {
  const connection = await RawConnection.open(service, requestHead('POST /v1/pets'));
  expect((await connection.response()).headers).toMatchObject({ connection: 'keep-alive' });
  await connection.serverEnd();
});

test('1,000 idle connections do not block other clients, and are closed', async () => {
  const idle = await Promise.all(Array.from({ length: 1_000 }, () => RawConnection.open(service)));
  expect((await new ApiClient(service, key).get('/v1/pets')).status).toBe(200);
  const responses = await Promise.all(idle.map((connection) => connection.response()));
  expect(responses.every(({ status }) => status === 408)).toBe(true);
  await Promise.all(idle.map((connection) => connection.serverEnd()));
});
