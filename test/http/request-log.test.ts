import { ApiClient, send, type RequestOptions } from '../harness/client.js';
import { holdPets } from '../harness/database-lock.js';
import { createOwner, type TestOwner } from '../harness/factories.js';
import { RawConnection } from '../harness/raw-connection.js';
import { startService, type LogLine, type TestService } from '../harness/service.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

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
  test.each(['a', 'A-z_0-9', '0', '-', 'x'.repeat(128)])('%s is taken over', async (id) => {
    expect((await client.get('/v1/pets', { 'X-Request-Id': id })).headers['x-request-id']).toBe(id);
  });

  test.each([
    ['of 129 characters', 'x'.repeat(129)],
    ['empty', ''],
    ['with a space', 'a b'],
    ['with a dot', 'a.b'],
    ['with a comma', 'a,b'],
    ['beyond ASCII', 'caf\xe9'],
    ['with a line of its own', 'a%0d%0ab'],
    ['given twice', ['a', 'b']],
  ])('one %s is replaced', async (_title, id) => {
    const { headers } = await client.send('/v1/pets', { headers: { 'X-Request-Id': id } });
    expect(headers['x-request-id']).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  test('each request without one gets its own', async () => {
    const ids = await Promise.all(
      Array.from(
        { length: 10 },
        async () => (await client.get('/v1/pets')).headers['x-request-id'],
      ),
    );
    expect(new Set(ids).size).toBe(10);
  });
});

describe('the log line of a request', () => {
  test.each<[title: string, path: string, options: RequestOptions, line: LogLine]>([
    [
      'a page',
      '/v1/pets?limit=1',
      {},
      { method: 'GET', route: '/v1/pets', path: '/v1/pets', status: 200 },
    ],
    [
      'an animal',
      '/v1/pets/7',
      {},
      { method: 'GET', route: '/v1/pets/:petId', path: '/v1/pets/7', status: 404 },
    ],
    [
      'HEAD',
      '/v1/pets/7',
      { method: 'HEAD' },
      { method: 'HEAD', route: '/v1/pets/:petId', status: 404 },
    ],
    ['an unknown path', '/nope/7', {}, { route: 'unmatched', path: '/nope/7', status: 404 }],
    [
      'another method',
      '/v1/pets',
      { method: 'PUT' },
      { method: 'PUT', route: 'unmatched', status: 405 },
    ],
    ['an unknown expectation', '/v1/pets', { headers: { Expect: 'tea' } }, { status: 417 }],
  ])(
    'of %s has id, method, route, status, duration and key id',
    async (_title, path, options, expected) => {
      const { headers } = await client.send(path, options);
      const line = await lineOf(headers['x-request-id']);
      expect(line).toMatchObject({ level: 30, time: expect.any(String), ...expected });
      expect(line['durationMs']).toBeGreaterThan(0);
      expect(line['keyId']).toBe(expected['status'] === 417 ? undefined : owner.keyId);
    },
  );

  test('of a request without a key has no key id', async () => {
    const { headers } = await send(service, '/v1/pets');
    expect(await lineOf(headers['x-request-id'])).not.toHaveProperty('keyId');
  });

  test('of a broken message has the id of the answer', async () => {
    const { headers } = await RawConnection.exchange(service, 'hello\r\n\r\n');
    const line = await service.waitForLog(({ requestId }) => requestId === headers['x-request-id']);
    expect(line).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  test('of a client that went away says so', async () => {
    const lock = await holdPets(service.database);
    const connection = await RawConnection.open(
      service,
      `GET /v1/pets HTTP/1.1\r\nHost: pets\r\nX-Request-Id: gone\r\nAuthorization: Bearer ${owner.key}\r\n\r\n`,
    );
    await lock.waitedFor();
    connection.socket.resetAndDestroy();
    const line = await lineOf('gone').finally(() => lock.release());
    expect(line).toMatchObject({ aborted: true });
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

test('no key is in the log, wherever a caller puts it', async () => {
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
    [`/${key}${key}`],
  ];
  for (const [path, options] of places) await client.send(path, options);
  await RawConnection.exchange(service, `${key}\r\n\r\n`);
  // A failure of the database is logged with its statement and what was to be stored.
  await service.database.query('ALTER TABLE pets RENAME TO pets_away');
  const failed = await client.post('/v1/pets', { name: key, categoryId: 1 });
  await service.database.query('ALTER TABLE pets_away RENAME TO pets');
  expect(failed.status).toBe(500);
  await lineOf(failed.headers['x-request-id']);
  expect(service.output()).not.toContain(key.slice(4));
});
