import { once } from 'node:events';
import { createKey, createOwner } from '../../../harness/database/factories.js';
import { ApiClient } from '../../../harness/http/client.js';
import { expectError } from '../../../harness/http/error-response.js';
import { RawConnection, requestHead } from '../../../harness/http/raw-connection.js';
import { useStore } from '../../../harness/http/store.js';
import { until } from '../../../harness/run/until.js';

/** The most that the service reads of a rejected body. More than the buffers of the sockets hold. */
const SWALLOWED_BYTES = 30_000_000;
const GIGABYTE = 1_000_000_000;
const JSON_TYPE = 'Content-Type: application/json';
const LONG = `Content-Length: ${GIGABYTE}`;
const PET = '{"name":"Frank","categoryId":1}';

const store = useStore({
  env: { BAN_AFTER_REJECTIONS: '0', ANONYMOUS_REQUESTS_PER_MINUTE: '1000000' },
});
/** API keys by name: a valid one, that of an owner over the limit, and none. */
const keys: Record<string, string | undefined> = {};

beforeAll(async () => {
  keys['valid'] = store.owner.key;
  const limits = { perMinute: 1, perDay: 10 };
  keys['spent'] = (await createOwner(store.database, { limits })).key;
  await new ApiClient(store.service, keys['spent']).get('/v1/items');
});
const open = (message = '') => RawConnection.open(store.service, message);

describe.each([
  ['without a key', 401, 'missing_api_key', 'POST /v1/items', 'none'],
  ['over the limit', 429, 'rate_limit_exceeded', 'POST /v1/items', 'spent'],
  ['at an unknown path', 404, 'route_not_found', 'POST /v1/nope', 'valid'],
  ['with another method', 405, 'method_not_allowed', 'PUT /v1/items', 'valid'],
  ['over the size limit', 413, 'payload_too_large', 'POST /v1/items', 'valid'],
])('a rejected body %s', (_title, status, code, request, as) => {
  it.each([
    ['before the body is sent', []],
    ['instead of 100 Continue', ['Expect: 100-continue']],
  ])(`${status} %s`, async (_when, headers) => {
    const connection = await open(requestHead(request, keys[as], JSON_TYPE, LONG, ...headers));
    const response = await connection.response();
    // A service that waits for the body would send 408.
    expectError(response, status, code);
    expect(response.headers['connection']).toBe('close');
    await connection.serverEnd();
  });

  it(`${status} for a client that keeps sending`, async () => {
    const body = Buffer.alloc(1_000_000, ' ');
    const [method, path = ''] = request.split(' ');
    const headers = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
    const caller = new ApiClient(store.service, keys[as]);
    expectError(await caller.send(path, { method: method!, headers, body }), status, code);
  });
});

test.each([
  ['a rejection', 'POST /v1/items', 'none', LONG],
  ['a body that is too large in chunks', 'POST /v1/items', 'valid', 'Transfer-Encoding: chunked'],
  ['a response to OPTIONS', 'OPTIONS /v1/items', 'valid', LONG],
  ['a response to GET', 'GET /v1/items', 'valid', LONG],
  ['a response outside of /v1', 'GET /openapi.json', 'none', LONG],
  ['a request to upgrade', 'GET /v1/items', 'none', 'Connection: Upgrade\r\nUpgrade: websocket'],
  ['an invalid message', 'GET /v1/items', 'none', 'Bad header'],
])('after %s, the service reads a limited part of further input', async (_title, ...message) => {
  const [request, as, header] = message;
  const { socket } = await open(requestHead(request, keys[as], JSON_TYPE, header));
  const chunk = Buffer.from(`10000\r\n${' '.repeat(65_536)}\r\n`);
  const closed = once(socket, 'close').catch(() => undefined);
  let sent = 0;
  const pour = (): void => {
    while (!socket.destroyed && sent < GIGABYTE && socket.write(chunk)) sent += chunk.length;
  };
  socket.on('drain', pour);
  pour();
  await closed;
  expect(sent).toBeLessThan(SWALLOWED_BYTES);
});

test('after a rejection, the connection of a client that keeps sending a little is closed', async () => {
  const connection = await open(requestHead('POST /v1/items', keys['none'], JSON_TYPE, LONG));
  expectError(await connection.response(), 401, 'missing_api_key');
  // Neither the limit of bytes nor that of idle connections ends it.
  connection.socket.on('error', () => undefined);
  await until(() => {
    if (!connection.socket.destroyed) connection.write(' ');
    return connection.socket.destroyed;
  });
});

test('a rejected body is swallowed after more than 4 MiB of earlier bodies on the connection', async () => {
  const body = PET.padEnd(100_000);
  const head = requestHead('POST /v1/items', keys['valid'], JSON_TYPE, `Content-Length: 100000`);
  const connection = await open();
  for (let sent = 0; sent < 4_300_000; sent += body.length) {
    expect((await connection.write(head + body).response()).status).toBe(201);
  }
  connection.write(requestHead('POST /v1/items', keys['valid'], JSON_TYPE, LONG));
  expectError(await connection.response(), 413, 'payload_too_large');
  const closed = once(connection.socket, 'close');
  connection.socket.end(body.repeat(30));
  expect(await closed).toEqual([false]); // hadError
});

describe('Expect: 100-continue', () => {
  const expecting = [`Content-Length: ${PET.length}`, 'Expect: 100-Continue'];

  it.each([
    ['after the guards', ''],
    ['for a client that does not wait', PET],
  ])('100 and then 201 %s', async (_title, sent) => {
    const head = requestHead('POST /v1/items', keys['valid'], JSON_TYPE, ...expecting);
    const connection = await open(head + sent);
    expect((await connection.response()).status).toBe(100);
    if (sent === '') connection.write(PET);
    expect((await connection.response()).status).toBe(201);
    connection.close();
  });

  it('201 without 100 in HTTP/1.0', async () => {
    const request = 'POST /v1/items HTTP/1.0';
    const head = requestHead(request, keys['valid'], JSON_TYPE, ...expecting);
    expect((await RawConnection.exchange(store.service, head + PET)).status).toBe(201);
  });

  it('415 instead of 100 for an unsupported media type', async () => {
    const head = requestHead('POST /v1/items', keys['valid'], 'Content-Type: a/b', ...expecting);
    expectError(await (await open(head)).response(), 415, 'unsupported_media_type');
  });
});

test('a rejection keeps the connection, except that of a body without a valid API key', async () => {
  const { key } = await createKey(store.database, store.owner.id, { revokedAtMs: 0 });
  // From now on, the cache has its state.
  await new ApiClient(store.service, key).get('/v1/items');
  const revoked = await open(`${requestHead('POST /v1/items', key, 'Content-Length: 1')}x`);
  expect((await revoked.response()).headers['connection']).toBe('close');
  const connection = await open();
  for (const [request, as, status, body = ''] of [
    ['GET /v1/items', 'none', 401],
    ['GET /v1/items', 'spent', 429],
    ['GET /v1/nope', 'valid', 404],
    ['GET /v1/items?limit=0', 'valid', 400],
    ['POST /v1/items', 'valid', 415, 'x'.repeat(100)],
    ['GET /v1/items', 'valid', 200],
    ['POST /v1/items', 'none', 401, 'x'.repeat(100)],
  ] as const) {
    const length = body === '' ? [] : [`Content-Length: ${body.length}`];
    connection.write(requestHead(request, keys[as], ...length) + body);
    const response = await connection.response();
    const isKept = as !== 'none' || body === '';
    expect([response.status, response.headers['connection']]).toEqual([
      status,
      isKept ? 'keep-alive' : 'close',
    ]);
  }
  connection.close();
});
