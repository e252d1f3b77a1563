import { type ApiResponse, ApiClient } from '../../harness/http/client.js';
import { type DatabaseLock, holdAfter, holdTable } from '../../harness/database/database-lock.js';
import { expectError, expectRateLimitHeaders } from '../../harness/http/error-response.js';
import { createKey, createOwner, type TestOwner } from '../../harness/database/factories.js';
import { Relay } from '../../harness/database/relay.js';
import { useStore } from '../../harness/http/store.js';
import { until } from '../../harness/run/until.js';
import { startService } from '../../harness/service/service.js';

const DAY_MS = 86_400_000;
const FRANK = { name: 'Frank', categoryId: 7 };
const PATIENT = { DATABASE_STATEMENT_TIMEOUT_SECONDS: '10', DATABASE_LOCK_TIMEOUT_SECONDS: '10' };
const INSERT = `INSERT INTO idempotency_keys
                SELECT $1, number, decode(repeat('00', 32), 'hex'), '{}', $2 FROM generate_series(1, $3) AS number`;

const store = useStore({ env: PATIENT });
let replica: { url: string };
let owner: TestOwner;
let api: ApiClient;
/** The same caller, at the other replica. */
let elsewhere: ApiClient;

beforeAll(async () => {
  replica = await startService({ database: store.database, env: PATIENT });
});
// Idempotency keys belong to an owner. Each test has an owner of its own.
beforeEach(async () => {
  owner = await createOwner(store.database);
  api = new ApiClient(store.service, owner.key);
  elsewhere = new ApiClient(replica, owner.key);
});

const post = (client: ApiClient, body: unknown = FRANK, key = 'k'): Promise<ApiResponse> =>
  client.post('/v1/items', body, { 'Idempotency-Key': key });

/** Expects an owner to have this many items and stored first responses. */
async function expectStored(items: number, responses: number): Promise<void> {
  const [row] = await store.query(
    `SELECT (SELECT count(*)::int FROM test_items JOIN api_keys AS key ON key.id = created_by_key_id
              WHERE key.owner_id = $1) AS items,
            (SELECT count(*)::int FROM idempotency_keys WHERE owner_id = $1) AS responses`,
    [owner.id],
  );
  expect(row).toEqual({ items, responses });
}

function expectReplay(response: ApiResponse, first: ApiResponse): void {
  expect([response.status, response.text]).toEqual([201, first.text]);
  expect(response.headers).toMatchObject({
    'idempotent-replayed': 'true',
    'content-type': 'application/json',
    'content-length': first.headers['content-length'],
    'cache-control': 'no-store',
  });
  expectRateLimitHeaders(response);
}

function expectFirst(response: ApiResponse): void {
  expect(response.status).toBe(201);
  expect(response.headers).not.toHaveProperty('idempotent-replayed');
}

/** Runs the work while the first request waits in the database for a lock. */
async function whileInProgress(
  lock: DatabaseLock,
  work: () => Promise<unknown>,
): Promise<ApiResponse> {
  const response = post(api);
  try {
    await lock.waitedFor();
    await work();
  } finally {
    await lock.release();
  }
  return response;
}

describe('POST /v1/items with an Idempotency-Key', () => {
  it('201 again, byte for byte, on every replica, and nothing is added', async () => {
    const category = '"categoryId":9223372036854775807';
    const first = await post(api, `{"name":"Zo\\u00eb \\u2028 🐈",${category}}`);
    expectFirst(first);
    await store.query(`UPDATE test_items SET name = 'Renamed' WHERE id = $1`, [first.json.id]);
    const { key } = await createKey(store.database, owner.id);
    for (const client of [api, elsewhere, new ApiClient(store.service, key)]) {
      expectReplay(await post(client, `{"name":"Zoë \u2028 🐈",${category}}`), first);
    }
    expect(first.text).toContain(category);
    await expectStored(1, 1);
  });

  it('201 again is counted and has current rate limit headers', async () => {
    const free = await createOwner(store.database, { plan: 'free' });
    for (const remaining of ['59', '58', '57']) {
      const { headers } = await post(new ApiClient(store.service, free.key));
      expect(headers['x-ratelimit-remaining']).toBe(remaining);
    }
  });

  it.each([
    ['the order of members', '{"status":"available","categoryId":7,"name":"Frank"}'],
    ['the notation of a number', '{"name":"Frank","categoryId":0.7e1}'],
    ['the notation of a letter and white space', ' {\n"name" : "\\u0046rank","categoryId":7.0 } '],
    ['members that an item does not have', '{"id":5,"x":[],"name":"Frank","categoryId":7}'],
    ['a member given twice', '{"name":"Max","name":"Frank","categoryId":7}'],
  ])('201 again whatever differs of %s', async (_what, body) => {
    const first = await post(api);
    expectReplay(await post(api, body), first);
  });

  it('422 idempotency_key_reused for any difference, and nothing is added', async () => {
    const item = { name: 'Frank', categoryId: '9223372036854775806', status: 'available' };
    const bodyOf = (changes: object) =>
      JSON.stringify({ ...item, ...changes }).replace(/"(\d+)"/, '$1');
    const first = await post(api, bodyOf({}));
    for (const changes of [
      { name: 'frank' },
      { status: 'sold' },
      // The same double.
      { categoryId: '9223372036854775807' },
    ]) {
      const response = await post(elsewhere, bodyOf(changes));
      expect(expectError(response, 422, 'idempotency_key_reused')).toContain('Idempotency-Key');
    }
    await expectStored(1, 1);
    expectReplay(await post(api, bodyOf({})), first);
  });

  it('201 of its own for another key, without one, and for another owner', async () => {
    const other = await createOwner(store.database);
    expectFirst(await post(api));
    expectFirst(await post(api, FRANK, 'K'));
    for (let time = 0; time < 2; time++) expectFirst(await api.post('/v1/items', FRANK));
    await expectStored(4, 2);
    expectFirst(await post(new ApiClient(store.service, other.key), { ...FRANK, name: 'Max' }));
  });

  it('201 again for 24 hours, of its own afterwards', async () => {
    const { service } = store;
    const first = await post(api);
    const startMs = service.nowMs();
    await service.setClock(startMs + DAY_MS - 1);
    expectReplay(await post(api), first);
    expectError(await post(api, { ...FRANK, categoryId: 1 }), 422, 'idempotency_key_reused');
    await service.setClock(startMs + DAY_MS);
    const second = await post(api, { ...FRANK, categoryId: 1 });
    expectFirst(second);
    await service.setClock(startMs + 2 * DAY_MS - 1);
    expectReplay(await post(api, { ...FRANK, categoryId: 1 }), second);
    await service.setClock(startMs);
    await expectStored(2, 1);
  });

  it('400 for an invalid body before and after a first response, and it is not stored', async () => {
    const expectInvalid = async (): Promise<void> => {
      expectError(await post(api, { ...FRANK, name: '' }), 400, 'invalid_request');
      expectError(await post(api, '{'), 400, 'malformed_json');
    };
    await expectInvalid();
    await expectStored(0, 0);
    const first = await post(api);
    expectFirst(first);
    await expectInvalid();
    expectReplay(await post(api), first);
  });

  it('expired responses are deleted, except those that another replica deletes', async () => {
    const now = new Date(store.service.nowMs());
    await store.query(INSERT, [owner.id, now, 2_500]);
    const next = new Date(now.getTime() + 1);
    const other = (await createOwner(store.database)).id;
    await store.query(INSERT, [other, next, 10]);
    await store.query(`BEGIN; SELECT FROM idempotency_keys WHERE key = '11' FOR UPDATE`);
    await store.service.runJob('Idempotency.deleteExpired');
    await store.query('ROLLBACK');
    const rows = await store.query(
      'SELECT count(*)::int FROM idempotency_keys WHERE owner_id IN ($1, $2)',
      [owner.id, other],
    );
    expect(rows).toEqual([{ count: 11 }]);
  });
});

describe('POST /v1/items › the form of Idempotency-Key', () => {
  const VISIBLE = Array.from({ length: 94 }, (_, index) => String.fromCharCode(0x21 + index));
  const quoted = (text: string): string => `"${text.replace(/[\\"]/g, '\\$&')}"`;

  it.each([
    'a',
    'a,b',
    'a"b',
    'a"',
    'a\\b',
    '\\',
    "'",
    'x'.repeat(255),
    VISIBLE.filter((character) => character !== '"').join(''),
  ])('201 again for a key bare and as a quoted string: %s', async (bare) => {
    const first = await post(api, FRANK, bare);
    expectReplay(await post(api, FRANK, quoted(bare)), first);
  });

  it.each(['"', '\\"', '"'.repeat(255), VISIBLE.join('')])(
    '201 again for a key that only a quoted string can hold: %s',
    async (key) => {
      expectFirst(await post(api, FRANK, quoted(key)));
      const stored = 'SELECT key FROM idempotency_keys WHERE owner_id = $1';
      expect(await store.query(stored, [owner.id])).toEqual([{ key }]);
    },
  );

  it.each<string | string[]>([
    '',
    '""',
    '"',
    '"a',
    '"a\\"',
    '"a"b"',
    '"\\a"',
    '"a", "b"',
    'a, b',
    '"a";b=1',
    'a b',
    '"a b"',
    'a\tb',
    '"a\tb"',
    'caf\u00e9',
    '"\u00e9"',
    'x'.repeat(256),
    quoted('x'.repeat(256)),
    quoted('"'.repeat(256)),
    ...['a b', 'a a', ' a', 'a ', '"a b"'].map((both) => both.split(' ')),
  ])('400 with the name and the accepted values of the header when it is %j', async (value) => {
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': value };
    const body = JSON.stringify(FRANK);
    const response = await api.send('/v1/items', { method: 'POST', headers, body });
    expect(expectError(response, 400, 'invalid_request')).toBe(
      'Idempotency-Key must be 1 to 255 visible ASCII characters, bare or as a quoted string, and must be sent only once.',
    );
    await expectStored(0, 0);
  });
});

describe('POST /v1/items while the first request with its Idempotency-Key is in progress', () => {
  it('409 at once on every replica, 400 for an invalid body, and the first response afterwards', async () => {
    const first = await whileInProgress(
      await holdTable(store.database, 'test_items', 'ACCESS EXCLUSIVE'),
      async () => {
        for (const client of [api, elsewhere]) {
          for (const body of [FRANK, { ...FRANK, categoryId: 8 }]) {
            const response = await post(client, body);
            expectError(response, 409, 'idempotency_key_in_progress');
            expect(response.headers['retry-after']).toBe('1');
          }
        }
        expectError(await post(api, { name: 'Frank' }), 400, 'invalid_request');
      },
    );
    expectFirst(first);
    expectReplay(await post(elsewhere), first);
    await expectStored(1, 1);
  });

  it('201 for another owner', async () => {
    const other = await createOwner(store.database);
    // The first request waits for this row, which has expired.
    const lock = await holdAfter(store.database, INSERT, [owner.id, new Date(0), 1]);
    const first = post(api, FRANK, '1');
    await lock.waitedFor();
    expectFirst(await post(new ApiClient(store.service, other.key), FRANK, '1'));
    await lock.release();
    expectFirst(await first);
  });

  it('409 and nothing added when a response is stored after the lookup', async () => {
    const expiresAt = new Date(store.service.nowMs() + DAY_MS);
    const other = await holdAfter(store.database, INSERT, [owner.id, expiresAt, 1]);
    const late = post(api, FRANK, '1');
    await other.waitedFor();
    await other.release();
    expectError(await late, 409, 'idempotency_key_in_progress');
    await expectStored(0, 1);
    expectError(await post(api, FRANK, '1'), 422, 'idempotency_key_reused');
  });

  it('one item, and every response is 201 or 409, for 50 requests at once', async () => {
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, index) => post(index % 2 ? api : elsewhere)),
    );
    const created = responses.filter(({ status }) => status === 201);
    for (const response of responses) {
      if (response.status !== 201) expectError(response, 409, 'idempotency_key_in_progress');
    }
    expect(new Set(created.map(({ text }) => text)).size).toBe(1);
    expect(created.filter(({ headers }) => !('idempotent-replayed' in headers))).toHaveLength(1);
    await expectStored(1, 1);
  });
});

describe('POST /v1/items with an Idempotency-Key when the database fails', () => {
  it('503, which is no replay, when the connection breaks at the COMMIT of one', async () => {
    const relay = await Relay.open(store.database.url);
    const env = { DATABASE_URL: relay.url };
    const service = await startService({ database: store.database, env });
    const client = new ApiClient(service, owner.key);
    const first = await post(client);
    const broken = post(client);
    await relay.untilReceived(Buffer.from(first.text));
    relay.hold();
    await relay.untilReceived(Buffer.from('COMMIT'));
    await relay.cut();
    const response = await broken;
    expectError(response, 503, 'service_unavailable');
    const id = response.headers['x-request-id'];
    const line = await service.waitForLog(({ requestId }) => requestId === id);
    expect(line).toMatchObject({ status: 503 });
    expect(line).not.toHaveProperty('replayed');
    await relay.restore();
    await service.close();
  });

  it.each(['test_items', 'idempotency_keys'])(
    '503 when the connection breaks as a row of %s is stored; nothing is, and a retry is the first',
    async (table) => {
      const lock = await holdTable(store.database, table, 'SHARE');
      // The service also deletes old rows, which waits for the same lock.
      const terminate = `
        SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
         WHERE relation = $1::regclass AND NOT granted AND query ~ ('INSERT INTO "?' || $1)`;
      const broken = await whileInProgress(lock, () =>
        until(async () => (await store.query(terminate, [table])).length > 0),
      );
      expectError(broken, 503, 'service_unavailable');
      await expectStored(0, 0);
      expectFirst(await post(elsewhere));
      await expectStored(1, 1);
    },
  );
});
