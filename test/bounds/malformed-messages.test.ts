import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { send } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { createOwner } from '../harness/database/factories.js';
import { RawConnection, requestHead } from '../harness/http/raw-connection.js';
import { untilMetric } from '../harness/service/metrics.js';
import { startService, type TestService } from '../harness/service/service.js';

const PER_MINUTE = 3;
const MEBIBYTE = 1_048_576;

let service: TestService;
let key: string;

beforeAll(async () => {
  service = await startService({ env: { ANONYMOUS_REQUESTS_PER_MINUTE: String(PER_MINUTE) } });
  ({ key } = await createOwner(service.database));
});
afterAll(() => service.close());
// Each test begins with a new window.
beforeEach(() => service.advance(60_000));

test.each([
  ['a request line that is not HTTP', 400, 'hello\r\n\r\n'],
  ['a header without a colon', 400, 'GET /v1/pets HTTP/1.1\r\nHost: pets\r\nBad\r\n\r\n'],
  ['no Host', 400, 'GET /v1/pets HTTP/1.1\r\n\r\n'],
  ['CONNECT', 400, 'CONNECT pets:1 HTTP/1.1\r\nHost: pets\r\n\r\n'],
  [
    'headers that are too large',
    431,
    `GET /v1/pets HTTP/1.1\r\nHost: pets\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`,
  ],
] as const)(
  '%s › 429 with Retry-After on the socket of an address over its limit',
  async (_title, status, message) => {
    for (let count = 0; count < PER_MINUTE; count++) {
      expect((await RawConnection.exchange(service, message)).status).toBe(status);
    }
    const connection = await RawConnection.open(service, message);
    const response = await connection.response();
    expectError(response, 429, 'rate_limit_exceeded');
    expect(response.headers).toMatchObject({
      connection: 'close',
      'retry-after': '60',
      'x-ratelimit-limit': String(PER_MINUTE),
      'x-ratelimit-remaining': '0',
    });
    await connection.serverEnd();
  },
);

test.each([
  ['without a request', ''],
  ['in the head of a request', 'GET /v1/pets HT'],
])('a connection that is reset %s is not counted and not logged', async (_title, bytes) => {
  const before = service.logs().length;
  for (let count = 0; count < PER_MINUTE; count++) {
    const { socket } = await RawConnection.open(service, bytes);
    // By then, the service has accepted the connection: it accepts this newer one afterwards.
    await send(service, '/health/live');
    socket.resetAndDestroy();
  }
  await untilMetric(service, 'pets_connections', (value) => value === 0);
  const { headers } = await send(service, '/v1/pets');
  expect(headers['x-ratelimit-remaining']).toBe(String(PER_MINUTE - 1));
  const lines = service.logs().slice(before);
  expect(lines.filter(({ msg }) => msg === 'malformed request')).toEqual([]);
});

test('POST /v1/pets › 401 without a reset for an unread body, on a connection that has sent over 4 MiB', async () => {
  const connection = await RawConnection.open(service);
  const body = Buffer.alloc(100_000, ' ');
  const post = (length: number, apiKey?: string): string => {
    const headers = ['Content-Type: application/json', `Content-Length: ${length}`];
    return requestHead('POST /v1/pets', apiKey, ...headers);
  };
  for (let sent = 0; sent <= 4 * MEBIBYTE; sent += body.length) {
    connection.write(post(body.length, key)).write(body);
    expectError(await connection.response(), 400, 'malformed_json');
  }

  connection.write(post(MEBIBYTE));
  expectError(await connection.response(), 401, 'missing_api_key');
  const { socket } = connection;
  const closed = once(socket, 'close');
  for (let sent = 0; sent < MEBIBYTE; sent += body.length) {
    socket.write(body);
    // Long enough for a reset to arrive.
    await delay(20);
  }
  socket.end();
  // A reset is an error, which rejects this.
  expect(await closed).toEqual([false]);
});
