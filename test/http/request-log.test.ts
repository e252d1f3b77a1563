import { ApiClient, send, type RequestOptions } from '../harness/http/client.js';
import { holdPets } from '../harness/database/database-lock.js';
import { createKey, createOwner, type TestOwner } from '../harness/database/factories.js';
import { RawConnection } from '../harness/http/raw-connection.js';
import { startService, type LogLine, type TestService } from '../harness/service/service.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const LONG = 'a'.repeat(7_500);

let service: TestService;
let owner: TestOwner;
let client: ApiClient;

beforeAll(async () => {
  service = await startService();
  owner = await createOwner(service.database);
  client = new ApiClient(service, owner.key);
});
afterAll(() => service.close());

const lineOf = (requestId: unknown): Promise<LogLine> =>
  service.waitForLog((line) => line.msg === 'request' && line['requestId'] === requestId);

describe('X-Request-Id', () => {
  test.each(['a', 'A-z_0-9', '0', '-', 'x'.repeat(128)])('%s is used', async (id) => {
    expect((await client.get('/v1/pets', { 'X-Request-Id': id })).headers['x-request-id']).toBe(id);
  });

  test.each<[string, string | string[]]>([
    ['of 129 characters', 'x'.repeat(129)],
    ['empty', ''],
    ['with a space', 'a b'],
    ['with a dot', 'a.b'],
    ['with a comma', 'a,b'],
    ['with a non-ASCII character', 'caf\xe9'],
    ['with an encoded line break', 'a%0d%0ab'],
    ['given twice', ['a', 'b']],
  ])('one %s is replaced', async (_title, id) => {
    const { headers } = await client.send('/v1/pets', { headers: { 'X-Request-Id': id } });
    expect(headers['x-request-id']).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  test('each request without one gets a new id', async () => {
    const idOf = async () => (await client.get('/v1/pets')).headers['x-request-id'];
    expect(new Set(await Promise.all(Array.from({ length: 10 }, idOf))).size).toBe(10);
  });
});

describe('the log line of a request', () => {
  const MISSING = { route: '/v1/pets/:petId', status: 404, code: 'pet_not_found' };

  test.each<[title: string, path: string, options: RequestOptions, line: LogLine]>([
    ['a page', '/v1/pets?limit=1', {}, { method: 'GET', route: '/v1/pets', status: 200 }],
    ['an animal', '/v1/pets/7', {}, { method: 'GET', path: '/v1/pets/7', ...MISSING }],
    ['HEAD', '/v1/pets/7', { method: 'HEAD' }, { method: 'HEAD', ...MISSING }],
    [
      'an unknown path',
      '/nope/7',
      {},
      { route: 'unmatched', path: '/nope/7', status: 404, code: 'route_not_found' },
    ],
    [
      'an encoded percent sign',
      '/100%25/%2520',
      {},
      { path: '/100%25/%2520', code: 'route_not_found' },
    ],
    ['a long path', `/${LONG}`, {}, { path: `/${LONG}`.slice(0, 300), code: 'route_not_found' }],
    [
      'another method',
      '/v1/pets',
      { method: 'PUT' },
      { method: 'PUT', route: 'unmatched', status: 405, code: 'method_not_allowed' },
    ],
    [
      'an unknown expectation',
      '/v1/pets',
      { headers: { Expect: 'tea' } },
      { status: 417, code: 'invalid_request' },
    ],
  ])(
    'of %s has id, method, route, status, error code, duration, owner, key and client address',
    async (_title, path, options, expected) => {
      const { headers } = await client.send(path, options);
      const line = await lineOf(headers['x-request-id']);
      expect(line).toMatchObject({
        level: 30,
        time: expect.any(String),
        clientAddress: '127.0.0.1',
        ...expected,
      });
      expect(line['durationMs']).toBeGreaterThan(0);
      expect(line['code']).toBe(expected['code']);
      // The expectation is checked before the API key is read.
      const isIdentified = expected['status'] !== 417;
      expect(line['keyId']).toBe(isIdentified ? owner.keyId : undefined);
      expect(line['ownerId']).toBe(isIdentified ? owner.id : undefined);
    },
  );

  test('of a request without an API key has the client address, and no owner and key', async () => {
    const { headers } = await send(service, '/v1/pets');
    const line = await lineOf(headers['x-request-id']);
    expect(line).toMatchObject({ code: 'missing_api_key', clientAddress: '127.0.0.1' });
    expect(line).not.toHaveProperty('keyId');
    expect(line).not.toHaveProperty('ownerId');
  });

  test('of a revoked or expired API key has its owner and id', async () => {
    const nowMs = service.nowMs();
    for (const options of [{ revokedAtMs: nowMs }, { expiresAtMs: nowMs - 1_000 }]) {
      const { key, keyId } = await createKey(service.database, owner.id, options);
      const { status, headers } = await new ApiClient(service, key).get('/v1/pets');
      expect(status).toBe(401);
      expect(await lineOf(headers['x-request-id'])).toMatchObject({
        code: 'invalid_api_key',
        ownerId: owner.id,
        keyId,
        clientAddress: '127.0.0.1',
      });
    }
  });

  test('of a 500 is at level error and has the error, but not the body', async () => {
    await service.database.query('ALTER TABLE pets ADD CONSTRAINT none CHECK (id < 0) NOT VALID');
    const { headers } = await client.post('/v1/pets', { name: 'Mr. Secret', categoryId: 778899 });
    await service.database.query('ALTER TABLE pets DROP CONSTRAINT none');
    const line = await lineOf(headers['x-request-id']);
    expect(line).toMatchObject({
      level: 50,
      status: 500,
      code: 'internal_error',
      err: { message: expect.stringContaining('"none"') as string, stack: expect.any(String) },
    });
    expect(JSON.stringify(line)).not.toMatch(/Secret|778899/);
  });

  test('of a health probe is at level debug', async () => {
    const probed = await startService({ database: service.database, env: { LOG_LEVEL: 'debug' } });
    await send(probed, '/health/live');
    await send(probed, '/health/ready');
    for (const route of ['/health/live', '/health/ready']) {
      expect(await probed.waitForLog((line) => line['route'] === route)).toMatchObject({
        level: 20,
      });
    }
    await probed.close();
    await send(service, '/health/live');
    await lineOf((await client.get('/v1/pets')).headers['x-request-id']);
    expect(service.output()).not.toContain('/health/');
  });

  test('of an invalid message has the id of the response', async () => {
    const { headers } = await RawConnection.exchange(service, 'hello\r\n\r\n');
    const line = await service.waitForLog(({ requestId }) => requestId === headers['x-request-id']);
    expect(line).toMatchObject({
      status: 400,
      code: 'invalid_request',
      clientAddress: '127.0.0.1',
    });
  });

  test('of a client that disconnected has aborted: true', async () => {
    const lock = await holdPets(service.database);
    const connection = await RawConnection.open(
      service,
      `GET /v1/pets HTTP/1.1\r\nHost: pets\r\nX-Request-Id: disconnected\r\nAuthorization: Bearer ${owner.key}\r\n\r\n`,
    );
    await lock.waitedFor();
    connection.socket.resetAndDestroy();
    const line = await lineOf('disconnected').finally(() => lock.release());
    expect(line).toMatchObject({ aborted: true, clientAddress: '127.0.0.1' });
  });
});

describe('the client address', () => {
  test('with LOG_CLIENT_ADDRESS=network, networks are logged, of invalid messages too', async () => {
    const proxied = await startService({
      database: service.database,
      env: { TRUST_PROXY: '1', LOG_CLIENT_ADDRESS: 'network' },
    });
    const loggedFor = async ({ headers }: { headers: Record<string, unknown> }) =>
      (await proxied.waitForLog(({ requestId }) => requestId === headers['x-request-id']))[
        'clientAddress'
      ];
    const forwarded = { 'X-Forwarded-For': '198.51.100.1, 2001:db8:1:2::3' };
    const served = await send(proxied, '/v1/pets', { headers: forwarded });
    expect(await loggedFor(served)).toBe('2001:db8:1::/48');
    const broken = await RawConnection.exchange(proxied, 'hello\r\n\r\n');
    expect(await loggedFor(broken)).toBe('127.0.0.0/24');
    await proxied.close();
  });

  test('without TRUST_PROXY, it is the address of the connection', async () => {
    const { headers } = await client.get('/v1/pets', { 'X-Forwarded-For': '203.0.113.77' });
    const line = await lineOf(headers['x-request-id']);
    expect(line['clientAddress']).toBe('127.0.0.1');
  });
});

describe('traceparent', () => {
  test.each([
    `00-${TRACE}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-00`,
    `01-${TRACE}-${PARENT}-01`,
    `cc-${TRACE}-${PARENT}-01-what-the-future-will-be-like`,
  ])('%s: the trace id is in the log', async (traceparent) => {
    const { headers } = await client.get('/v1/pets', { traceparent });
    expect(await lineOf(headers['x-request-id'])).toMatchObject({ traceId: TRACE });
  });

  test.each<string | string[]>([
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
    const { headers } = await client.send('/v1/pets', { headers: { traceparent } });
    expect(await lineOf(headers['x-request-id'])).not.toHaveProperty('traceId');
  });
});

test('the log contains no API key, wherever a caller sends it', async () => {
  const { key } = owner;
  const escaped = key.replace('_', '%5F');
  const places: [path: string, options?: RequestOptions][] = [
    ['/v1/pets', { headers: { 'X-Request-Id': key } }],
    ['/v1/pets', { headers: { Authorization: key } }],
    ['/v1/pets', { headers: { Authorization: `Basic ${key}` } }],
    ['/v1/pets', { headers: { 'X-Api-Key': key, Cookie: `key=${key}`, Expect: key } }],
    ['/v1/pets', { headers: { 'Idempotency-Key': key, traceparent: key } }],
    ['/v1/pets', { method: 'PUT', headers: { 'Content-Type': key } }],
    [`/v1/pets?key=${key}`],
    [`/v1/pets?status=${key}`],
    [`/v1/pets?cursor=${key}`],
    [`/v1/pets/${key}`],
    [`/v1/pets/${escaped}`],
    [`/${escaped.replace('aas', '%61%61s')}/%zz`],
    [`/v1/pets/${key.replace('aas', '%2561as')}`],
    [`/v1/pets/${key.replace('aas', '%25252561as')}`],
    [`/v1/pets/${key.replace('aas', '%%36%31as')}`],
    [`/${key}${key}`],
  ];
  for (const [path, options] of places) await client.send(path, options);
  await RawConnection.exchange(service, `${key}\r\n\r\n`);
  // The log of a database error could contain the statement and its values.
  await service.database.query('ALTER TABLE pets RENAME TO pets_away');
  const failed = await client.post('/v1/pets', { name: key, categoryId: 1 });
  await service.database.query('ALTER TABLE pets_away RENAME TO pets');
  expect(failed.status).toBe(500);
  await lineOf(failed.headers['x-request-id']);
  expect(service.output()).not.toContain(key.slice(4));
});
