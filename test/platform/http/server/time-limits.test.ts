import { setTimeout as delay } from 'node:timers/promises';
import { expectError } from '../../../harness/http/error-response.js';
import { RawConnection, requestHead } from '../../../harness/http/raw-connection.js';
import { useStore } from '../../../harness/http/store.js';
import { metric } from '../../../harness/service/metrics.js';

const PET = '{"name":"Frank","categoryId":1}';
/** Half of STALLED_CONNECTION_TIMEOUT_SECONDS, which would be the next limit to close a connection. */
const LATEST_MS = 30_000;
/** A limit that each byte extends would let most of the requests arrive. */
const BYTE_INTERVAL_MS = 500;

const store = useStore({
  env: {
    // They also apply to the requests that get 200.
    HEADERS_TIMEOUT_SECONDS: '2',
    REQUEST_TIMEOUT_SECONDS: '2',
    KEEP_ALIVE_TIMEOUT_SECONDS: '0.3',
    ANONYMOUS_REQUESTS_PER_MINUTE: '1000000',
  },
});

const get = (version: string) => requestHead(`GET /v1/items HTTP/${version}`, store.owner.key);
const create = (version: string, ...headers: string[]): string =>
  requestHead(
    `POST /v1/items HTTP/${version}`,
    store.owner.key,
    'Content-Type: application/json',
    ...headers,
  );
const LENGTH = `Content-Length: ${PET.length}`;
const chunked = (...headers: string[]): string =>
  create('1.1', 'Transfer-Encoding: chunked', ...headers);
const HEADER = `X-A: ${'b'.repeat(100)}`;

/** Where a client stops sending, or sends one byte now and then. */
const SLOW: [title: string, limit: 'address' | 'owner', atOnce: () => string, later: string[]][] = [
  ['in a request line', 'address', () => 'G', Array.from('ET /v1/items?a=bbbbbbbbb HTTP/1.1')],
  ['in a header', 'address', () => get('1.1').slice(0, -2), Array.from(HEADER)],
  ['in a header of HTTP/1.0', 'address', () => get('1.0').slice(0, -2), Array.from(HEADER)],
  ['in empty lines before a request', 'address', () => '\r\n', Array.from('\r\n'.repeat(100))],
  ['in a body', 'owner', () => create('1.1', LENGTH), Array.from(PET)],
  ['in a body of HTTP/1.0', 'owner', () => create('1.0', LENGTH), Array.from(PET)],
  [
    'in a body after 100',
    'owner',
    () => create('1.1', LENGTH, 'Expect: 100-continue'),
    Array.from(PET),
  ],
  ['in a chunk', 'owner', () => `${chunked()}1f\r\n`, Array.from(PET)],
  ['in chunks of one byte', 'owner', chunked, Array.from(PET, (byte) => `1\r\n${byte}\r\n`)],
  [
    'in a broken chunk after an Upgrade header',
    'owner',
    () => `${chunked('Connection: Upgrade', 'Upgrade: h2c')}5\r\n{"nam\r\nzzz\r\n`,
    Array.from(PET),
  ],
  ['in a chunk extension', 'owner', () => `${chunked()}1;`, Array.from('a'.repeat(100))],
  ['in trailers', 'owner', () => `${chunked()}1\r\n{\r\n0\r\nX-A: `, Array.from('b'.repeat(100))],
];

describe.each([
  ['that stops', 0],
  ['that sends one byte now and then', BYTE_INTERVAL_MS],
])('a client %s', (_how, intervalMs) => {
  test.concurrent.each(SLOW)(
    '408 and the end of the connection %s, while others get 200',
    async (_title, limit, atOnce, later) => {
      const startedAt = performance.now();
      const connection = await RawConnection.open(store.service, atOnce());
      let next = 0;
      const drip = setInterval(() => {
        if (intervalMs > 0 && connection.socket.writable) connection.write(later[next++] ?? '');
      }, intervalMs);
      const over = new AbortController();
      const closed = (async () => {
        let response = await connection.response();
        if (response.status === 100) response = await connection.response();
        clearInterval(drip);
        await connection.serverEnd();
        return response;
      })().finally(() => over.abort());
      closed.catch(() => undefined);
      while (!over.signal.aborted) {
        expect((await store.api.get('/v1/items')).status).toBe(200);
        await delay(100);
      }
      const response = await closed;
      expectError(response, 408, 'request_timeout');
      expect(performance.now() - startedAt).toBeLessThan(LATEST_MS);
      expect(response.headers['connection']).toBe('close');
      // Counted once: for the owner if the API key was read, otherwise for the address.
      expect(response.headers['ratelimit-policy']).toContain(
        limit === 'owner' ? '"day"' : '"minute";q=1000000;w=60',
      );
      // The limit closed the connection before the request ended.
      expect(next).toBeLessThan(later.length);
    },
  );
});

test.each([
  ['', ''],
  [' after an empty line', '\r\n'],
])(
  'a kept-alive connection closes without a response when no request follows%s',
  async (_title, after) => {
    const message = requestHead('POST /v1/items') + after;
    const connection = await RawConnection.open(store.service, message);
    expect((await connection.response()).headers).toMatchObject({ connection: 'keep-alive' });
    await connection.serverEnd();
    expect(await metric(store.service, 'shed_total{bound="stalled"}')).toBe(0);
  },
);

test('1,000 connections without a byte do not block other clients, close silently, and are counted and logged nowhere', async () => {
  const caller = { port: store.service.port, localAddress: '127.0.0.41' };
  const remaining = async () => {
    const { headers } = await RawConnection.exchange(caller, 'hello\r\n\r\n');
    return Number(headers['x-ratelimit-remaining']);
  };
  const malformed = () =>
    store.service.logs().filter((line) => line['clientAddress'] === caller.localAddress).length;
  const before = await remaining();
  const idle = await Promise.all(Array.from({ length: 1_000 }, () => RawConnection.open(caller)));
  expect((await store.api.get('/v1/items')).status).toBe(200);
  // A client that ends its side.
  idle[0]!.socket.end();
  // It rejects if anything was received, or the connection was reset.
  await Promise.all(idle.map((connection) => connection.serverEnd()));
  expect(await remaining()).toBe(before - 1);
  await store.service.waitForLog(() => malformed() >= 2);
  expect(malformed()).toBe(2);
});
