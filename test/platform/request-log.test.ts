import { holdItems } from '../harness/database/database-lock.js';
import { createKey } from '../harness/database/factories.js';
import { ApiClient, type RequestOptions, send } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { RawConnection, requestHead } from '../harness/http/raw-connection.js';
import { useStore } from '../harness/http/store.js';
import { metric, untilMetric } from '../harness/service/metrics.js';
import { type LogLine, startService } from '../harness/service/service.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const LONG = 'a'.repeat(7_500);
const ADDRESS = { clientAddress: '127.0.0.1' };
const COMPLETE = '{"name":"Frank","categoryId":1}';
const INCOMPLETE = '{"name":';

const store = useStore();
const list = (headers: RequestOptions['headers'] = {}) => store.api.send('/v1/items', { headers });

/** Returns the log line of a request, by its id or by the response. */
function lineOf(
  request: string | { headers: Record<string, string | string[] | undefined> },
): Promise<LogLine> {
  const id = typeof request === 'string' ? request : request.headers['x-request-id'];
  return store.service.waitForLog(({ msg, requestId }) => msg === 'request' && requestId === id);
}

describe('X-Request-Id', () => {
  it.each(['a', 'A-z_0-9', '0', '-', 'x'.repeat(128)])('%s is used', async (id) => {
    expect((await list({ 'X-Request-Id': id })).headers['x-request-id']).toBe(id);
  });

  it.each<string | string[]>([
    'x'.repeat(129),
    '',
    'a b',
    'a.b',
    'a,b',
    'caf\xe9',
    'a%0d%0ab',
    ['a', 'b'],
  ])('%j is replaced by a new id', async (id) => {
    const ids = [await list({ 'X-Request-Id': id }), await list()].map(
      ({ headers }) => headers['x-request-id'],
    );
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(ids[0]).not.toBe(ids[1]);
  });
});

describe('the log line of a request', () => {
  const MISSING = { route: '/v1/items/:itemId', status: 404, code: 'item_not_found' };
  const UNKNOWN = { route: 'unmatched', status: 404, code: 'route_not_found' };

  it.each<[title: string, path: string, line: LogLine, options?: RequestOptions]>([
    ['a page', '/v1/items?limit=1', { method: 'GET', route: '/v1/items', status: 200 }],
    ['an item', '/v1/items/7', { method: 'GET', path: '/v1/items/7', ...MISSING }],
    [
      'an invalid parameter',
      '/v1/items?limit=secret',
      { status: 400, reason: 'limit: isIntegerParameter', code: 'invalid_request' },
    ],
    ['HEAD', '/v1/items/7', { method: 'HEAD', ...MISSING }, { method: 'HEAD' }],
    ['an encoded percent sign', '/100%25/%2520', { path: '/100%25/%2520', ...UNKNOWN }],
    ['a long path', `/${LONG}`, { path: `/${LONG}`.slice(0, 300), ...UNKNOWN }],
    [
      'another method',
      '/v1/items',
      { method: 'PUT', route: 'unmatched', status: 405, code: 'method_not_allowed' },
      { method: 'PUT' },
    ],
  ])(
    'of %s has id, method, route, status, error code, duration, owner, key and client address',
    async (_title, path, expected, options = {}) => {
      const line = await lineOf(await store.api.send(path, options));
      const { id: ownerId, keyId } = store.owner;
      const time: unknown = expect.any(String);
      expect(line).toMatchObject({ level: 30, time, ...ADDRESS, ownerId, keyId, ...expected });
      expect(line['durationMs']).toBeGreaterThan(0);
      expect(line['code']).toBe(expected['code']);
    },
  );

  it('without an API key, and of an invalid message, has the client address, and no owner and key', async () => {
    const anonymous = await lineOf(await store.anonymous.get('/v1/items'));
    expect(anonymous).toMatchObject({ code: 'missing_api_key', ...ADDRESS });
    const invalid = await RawConnection.exchange(store.service, 'hello\r\n\r\n');
    const id = invalid.headers['x-request-id'];
    const line = await store.service.waitForLog(({ requestId }) => requestId === id);
    expect(line).toMatchObject({ status: 400, code: 'invalid_request', ...ADDRESS });
    for (const each of [anonymous, line]) {
      expect(each).not.toHaveProperty('keyId');
      expect(each).not.toHaveProperty('ownerId');
    }
  });

  it('of a revoked or expired API key has its owner and id', async () => {
    const { id: ownerId } = store.owner;
    const nowMs = store.service.nowMs();
    for (const options of [{ revokedAtMs: nowMs }, { expiresAtMs: nowMs - 1_000 }]) {
      const { key, keyId } = await createKey(store.database, ownerId, options);
      const response = await new ApiClient(store.service, key).get('/v1/items');
      const expected = { status: 401, code: 'invalid_api_key', ownerId, keyId, ...ADDRESS };
      expect(await lineOf(response)).toMatchObject(expected);
    }
  });

  it('of a 500 is at level error and has the error, but not the body', async () => {
    await store.query('ALTER TABLE test_items ADD CONSTRAINT none CHECK (id < 0) NOT VALID');
    const response = await store.api.post('/v1/items', { name: 'Mr. Secret', categoryId: 778899 });
    await store.query('ALTER TABLE test_items DROP CONSTRAINT none');
    const line = await lineOf(response);
    const err = {
      message: expect.stringContaining('"none"') as unknown,
      stack: expect.any(String),
    };
    expect(line).toMatchObject({ level: 50, status: 500, code: 'internal_error', err });
    expect(JSON.stringify(line)).not.toMatch(/Secret|778899/);
  });

  it('of a health probe is at level debug', async () => {
    const env = { LOG_LEVEL: 'debug' };
    const probed = await startService({ database: store.database, env });
    for (const route of ['/health/live', '/health/ready']) {
      await send(probed, route);
      expect(await probed.waitForLog((line) => line['route'] === route)).toMatchObject({
        level: 20,
      });
    }
    await send(store.service, '/health/live');
    await lineOf(await list());
    expect(store.service.output()).not.toContain('/health/');
  });

  it.each([
    ['GET', ''],
    ['POST', COMPLETE],
    ['POST', INCOMPLETE],
  ])(
    'of a %s with the body %s whose client disconnects before the response has 499 and aborted: true',
    async (method, body) => {
      const id = `${method}-${body.length}`;
      const lock = await holdItems(store.database);
      const length = `Content-Length: ${body ? COMPLETE.length : 0}`;
      const headers = [`X-Request-Id: ${id}`, 'Content-Type: application/json', length];
      const head = requestHead(`${method} /v1/items`, store.owner.key, ...headers);
      const connection = await RawConnection.open(store.service, head + body);
      if (body !== INCOMPLETE) await lock.waitedFor();
      else await untilMetric(store.service, 'requests_in_progress', (value) => value === 1);
      const counted = `http_server_request_duration_seconds_count{http_request_method="${method}",http_route="/v1/items",http_response_status_code="499"}`;
      const before = (await metric(store.service, counted)) || 0;
      connection.socket.resetAndDestroy();
      const line = await lineOf(id).finally(() => lock.release());
      expect(line).toMatchObject({ status: 499, aborted: true, ...ADDRESS });
      // The handler ends after the connection, which counts nothing more.
      await list();
      expect(await metric(store.service, counted)).toBe(before + 1);
      const added =
        'http_server_request_duration_seconds_count{http_request_method="POST",http_route="/v1/items",http_response_status_code="201"}';
      expect(await metric(store.service, added)).toBe(NaN);
    },
  );

  it.each([
    ['http://alice:secret@pets/v1/items', 400, '/v1/items'],
    ['http://alice@pets:3000/v1/items?limit=1', 400, '/v1/items'],
    ['HTTPS://alice:secret@pets', 400, '/'],
    ['ftp://alice:se:cr@et@[::1]/v1/items', 400, '/v1/items'],
    ['http:///alice:secret@pets/v1/items', 400, '/v1/items'],
    ['//alice:secret@pets/v1/items', 400, '/v1/items'],
    ['http://pets/v1/items?a=@', 200, '/v1/items'],
    ['http://pets/v1/items/a:b@c', 404, '/v1/items/a:b@c'],
    ['/v1/items/@b', 404, '/v1/items/@b'],
    ['//v1/items', 404, '//v1/items'],
    ['/v1/items#secret', 404, '/v1/items'],
  ])('of %s has %i and the path only: %s', async (target, status, path) => {
    const referer = 'Referer: http://alice:secret@pets/';
    const head = requestHead(`GET ${target}`, store.owner.key, referer);
    const response = await RawConnection.exchange(store.service, head);
    expect(response.status).toBe(status);
    if (status === 400) expectError(response, 400, 'invalid_request');
    const line = await lineOf(response);
    expect(line).toMatchObject({ status, path });
    expect(JSON.stringify(line)).not.toMatch(/alice|secret/);
  });
});

test.each([
  ['full', '2001:db8:1:2::3', '127.0.0.1'],
  ['network', '2001:db8:1::/48', '127.0.0.0/24'],
  ['off', undefined, undefined],
])(
  'LOG_CLIENT_ADDRESS=%s › %s behind a proxy, %s of an invalid message',
  async (LOG_CLIENT_ADDRESS, ofServed, ofInvalid) => {
    const env = { TRUST_PROXY: '1', LOG_CLIENT_ADDRESS };
    const proxied = await startService({ database: store.database, env });
    const loggedFor = async ({ headers }: { headers: Record<string, unknown> }) =>
      (await proxied.waitForLog(({ requestId }) => requestId === headers['x-request-id']))[
        'clientAddress'
      ];
    const forwarded = { 'X-Forwarded-For': '198.51.100.1, 2001:db8:1:2::3' };
    const served = await send(proxied, '/v1/items', { headers: forwarded });
    expect(await loggedFor(served)).toBe(ofServed);
    expect(await loggedFor(await RawConnection.exchange(proxied, 'hello\r\n\r\n'))).toBe(ofInvalid);
    await proxied.close();
    const direct = await list({ 'X-Forwarded-For': '203.0.113.77' });
    expect(await lineOf(direct)).toMatchObject(ADDRESS);
  },
);

describe('traceparent', () => {
  it.each([
    `00-${TRACE}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-00`,
    `01-${TRACE}-${PARENT}-01`,
    `cc-${TRACE}-${PARENT}-01-what-the-future-will-be-like`,
  ])('%s: the trace id is in the log', async (traceparent) => {
    expect(await lineOf(await list({ traceparent }))).toMatchObject({ traceId: TRACE });
  });

  it.each<string | string[]>([
    '',
    TRACE,
    `ff-${TRACE}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${TRACE.slice(1)}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}`,
    `00-${TRACE}-${PARENT}-1`,
    `00-${TRACE}-${PARENT}-01-more`,
    `01-${TRACE}-${PARENT}-01more`,
    `00-${TRACE}-${PARENT}-01 x`,
    `0-${TRACE}-${PARENT}-01`,
    `zz-${TRACE}-${PARENT}-01`,
    [`00-${TRACE}-${PARENT}-01`, `00-${TRACE}-${PARENT}-01`],
  ])('%j is not valid: no trace id', async (traceparent) => {
    expect(await lineOf(await list({ traceparent }))).not.toHaveProperty('traceId');
  });
});

test('the log contains no API key, wherever a caller sends it', async () => {
  const { key } = store.owner;
  const prefix = key.slice(0, -36);
  const random = key.slice(-36);
  const percent = (text: string) => Buffer.from(text).toString('hex').replaceAll(/../g, '%$&');
  const first = percent(key.charAt(0)).slice(1);
  const escaped = key.replace('_', '%5F');
  for (const headers of [
    { 'X-Request-Id': key },
    { Authorization: key },
    { Authorization: `Basic ${key}` },
    { 'X-Api-Key': key, Cookie: `key=${key}`, Expect: key },
    { 'Idempotency-Key': key, traceparent: key, 'Content-Type': key },
  ]) {
    await store.api.send('/v1/items', { method: 'POST', headers });
  }
  for (const path of [
    `/v1/items?key=${key}`,
    `/v1/items?status=${key}`,
    `/v1/items?cursor=${key}`,
    `/v1/items/${key}`,
    `/v1/items/${escaped}`,
    `/${percent(prefix)}${random}/%zz`,
    ...['%25', '%252525'].map((start) => `/v1/items/${start}${first}${key.slice(1)}`),
    `/v1/items/%${percent(first)}${key.slice(1)}`,
    `/${key.slice(0, 20)}${percent(key.charAt(20))}${key.slice(21)}`,
    `/${key}${key}`,
    `/${key.padStart(310, 'x')}`,
  ]) {
    await store.api.get(path);
  }
  await RawConnection.exchange(store.service, `${key}\r\n\r\n`);
  // The log of a database error could contain the statement and its values.
  await store.query('ALTER TABLE test_items RENAME TO test_items_away');
  const failed = await store.api.post('/v1/items', { name: key, categoryId: 1 });
  await store.query('ALTER TABLE test_items_away RENAME TO test_items');
  expect(failed.status).toBe(500);
  await lineOf(failed);
  expect(store.service.output()).not.toContain(random.slice(0, 12));
});

describe('the cause of an error', () => {
  const failing = useStore({ features: 'database' });

  it.each<[name: string, status: number, line: LogLine]>([
    ['type', 500, { level: 50, err: expect.objectContaining({ code: '22P02' }) }],
    ['date', 500, { level: 50, err: expect.objectContaining({ code: '22008' }) }],
    ['range', 400, { level: 40, cause: '22003: value is out of range for type integer' }],
    [
      'missing',
      404,
      { level: 40, cause: expect.stringContaining('find any entity of type "Toy"') },
    ],
    ['referring', 409, { level: 40, cause: expect.stringMatching(/^23503: .*api_keys_owner_id/) }],
    ['referred', 409, { level: 40, cause: expect.stringMatching(/^23503: .*api_keys_owner_id/) }],
    ['conflict', 409, { level: 40, cause: 'the inside' }],
    ['gateway', 502, { level: 50, err: expect.objectContaining({ message: 'Frank' }) }],
    ['plain', 404, { level: 30 }],
  ])('%s › %i is in the log, without values of the request', async (name, status, line) => {
    const response = await failing.api.get(`/v1/database/failures/${name}`);
    expect(response.status).toBe(status);
    expect(response.text).not.toMatch(/Frank|inside|22P02|api_keys|owner/);
    const id = response.headers['x-request-id'];
    const logged = await failing.service.waitForLog(({ requestId }) => requestId === id);
    expect(logged).toMatchObject(line);
    if (status === 404 && name === 'plain') expect(logged).not.toHaveProperty('cause');
    if (name !== 'gateway') expect(JSON.stringify(logged)).not.toMatch(/Frank|99999999999/);
  });
});
