import { expectError } from '../harness/http/error-response.js';
import { RawConnection, requestHead } from '../harness/http/raw-connection.js';
import { useStore } from '../harness/http/store.js';

const MAX_BYTES = 102_400;
const store = useStore({ features: 'raw-bodies' });

/** Sends a body in chunks of at most 20,000 bytes, as long as the service reads. */
async function sendChunks(path: string, bytes: number): Promise<RawConnection> {
  const { key } = store.owner;
  const head = requestHead(`POST ${path}`, key, 'Transfer-Encoding: chunked');
  const connection = await RawConnection.open(store.service, head);
  for (let left = bytes; left > 0; left -= 20_000) {
    const length = Math.min(left, 20_000);
    connection.write(`${length.toString(16)}\r\n${'a'.repeat(length)}\r\n`);
  }
  return connection.write('0\r\n\r\n');
}

const post = (path: string, bytes: number) =>
  store.api.send(path, { method: 'POST', body: Buffer.alloc(bytes, 'a') });

describe.each([
  ['@Req()', '/v1/raw-bodies/req'],
  ['a decorator of its own', '/v1/raw-bodies/decorator'],
])('POST to a route that reads the request with %s as a stream', (_how, path) => {
  test('201 for a body of the maximum size, with a Content-Length or in chunks', async () => {
    expect((await post(path, MAX_BYTES)).json).toEqual({ bytes: MAX_BYTES });
    const connection = await sendChunks(path, MAX_BYTES);
    const { status, text } = await connection.response();
    expect([status, text]).toEqual([201, `{"bytes":${MAX_BYTES}}`]);
    connection.close();
  });

  test('413 for a larger body, with a Content-Length or in chunks', async () => {
    const response = await post(path, MAX_BYTES + 1);
    expect(expectError(response, 413, 'payload_too_large')).toContain(String(MAX_BYTES));
    for (const bytes of [MAX_BYTES + 1, 1_000_000]) {
      const connection = await sendChunks(path, bytes);
      expectError(await connection.response(), 413, 'payload_too_large');
      await connection.serverEnd();
      connection.close();
    }
  });

  test('503 when the bodies of one caller have arrived in part and fill its share', async () => {
    const head = requestHead(`POST ${path}`, store.owner.key, 'Content-Length: 102400');
    const part = head + 'a'.repeat(100_000);
    const slow = await Promise.all(
      Array.from({ length: 11 }, () => RawConnection.open(store.service, part)),
    );
    const responses = await Promise.race(slow.map((connection) => connection.response()));
    expectError(responses, 503, 'service_unavailable');
    for (const connection of slow) connection.close();
  });
});

test('GET /v1/pets › 413 for a larger body, which the route does not read', async () => {
  const head = requestHead('GET /v1/pets', store.owner.key, `Content-Length: ${MAX_BYTES + 1}`);
  expectError(await RawConnection.exchange(store.service, head), 413, 'payload_too_large');
});

test('POST to a path without a route › 404 for a larger body, which nothing reads', async () => {
  expectError(await post('/v1/nothing', MAX_BYTES + 1), 404, 'route_not_found');
});

test('POST to a route with @Req() › 100 before a body that the client announces', async () => {
  const expectation = ['Content-Length: 1', 'Expect: 100-continue'];
  const head = requestHead('POST /v1/raw-bodies/req', store.owner.key, ...expectation);
  const connection = await RawConnection.open(store.service, head);
  expect((await connection.response()).status).toBe(100);
  expect((await connection.write('a').response()).status).toBe(201);
  connection.close();
});
