import { Client } from 'pg';
import { type ApiResponse, ApiClient } from '../harness/http/client.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { type DatabaseLock, holdPets, holdTable } from '../harness/database/database-lock.js';
import { expectError, expectRateLimitHeaders } from '../harness/http/error-response.js';
import { createKey, createOwner, type TestOwner } from '../harness/database/factories.js';
import { startService, type TestService } from '../harness/service/service.js';

const DAY_MS = 86_400_000;
const FRANK = { name: 'Frank', categoryId: 7 };
const FORM_MESSAGE =
  'Idempotency-Key must be 1 to 255 visible ASCII characters, bare or as a quoted string, and must be sent only once.';

let database: TestDatabase;
let service: TestService;
let replica: TestService;
let owner: TestOwner;
let api: ApiClient;
/** The same caller, at the other replica. */
let elsewhere: ApiClient;

beforeAll(async () => {
  database = await createDatabase();
  const env = { DATABASE_STATEMENT_TIMEOUT_SECONDS: '10', DATABASE_LOCK_TIMEOUT_SECONDS: '10' };
  [service, replica] = await Promise.all([
    startService({ database, env }),
    startService({ database, env }),
  ]);
});
// Idempotency keys belong to an owner. Each test has an owner of its own.
beforeEach(async () => {
  owner = await createOwner(database);
  api = new ApiClient(service, owner.key);
  elsewhere = new ApiClient(replica, owner.key);
});
afterAll(async () => {
  await Promise.all([service.close(), replica.close()]);
  await database.close();
});

const post = (
  client: ApiClient,
  body: unknown = FRANK,
  key: string | undefined = 'k',
): Promise<ApiResponse> => client.post('/v1/pets', body, { 'Idempotency-Key': key });

/** Returns how many animals and how many stored first responses an owner has. */
async function countOf({ id }: TestOwner): Promise<{ pets: number; responses: number }> {
  const [row] = await database.query<{ pets: number; responses: number }>(
    `SELECT (SELECT count(*)::int FROM pets JOIN api_keys AS key ON key.id = created_by_key_id
              WHERE key.owner_id = $1) AS pets,
            (SELECT count(*)::int FROM idempotency_keys WHERE owner_id = $1) AS responses`,
    [id],
  );
  return row!;
}

function expectReplay(response: ApiResponse, first: ApiResponse): void {
  expect([response.status, response.text]).toEqual([201, first.text]);
  expect(response.headers).toMatchObject({
    'idempotent-replayed': 'true',
    'content-type': first.headers['content-type'],
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
  work: () => Promise<void>,
  first = () => post(api),
): Promise<ApiResponse> {
  const response = first();
  try {
    await lock.waitedFor();
    await work();
  } finally {
    await lock.release();
  }
  return response;
}

/** Resolves when a statement on the database waits for another transaction. */
async function untilOneWaits(): Promise<void> {
  const waiting = `
    SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  while ((await database.query(waiting)).length === 0);
}

/** Ends the server's side of a connection that waits for a lock on the table. */
const breakWaiting = (table: string) =>
  database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = $1::regclass AND NOT granted`,
    [table],
  );

describe('POST /v1/pets with an Idempotency-Key', () => {
  it('201 again, byte for byte, on every replica, and nothing is added', async () => {
    const first = await post(
      api,
      '{"name":"Zo\\u00eb \\u2028 🐈","categoryId":9223372036854775807}',
    );
    expectFirst(first);
    expect(first.text).toContain('9223372036854775807');
    const body = '{"name":"Zoë \u2028 🐈","categoryId":9223372036854775807}';
    for (const client of [api, elsewhere, api]) expectReplay(await post(client, body), first);
    expect(await countOf(owner)).toEqual({ pets: 1, responses: 1 });
  });

  it('201 again after a restart', async () => {
    const first = await startService({ database });
    const response = await post(new ApiClient(first, owner.key));
    await first.close();
    const second = await startService({ database });
    expectReplay(await post(new ApiClient(second, owner.key)), response);
    await second.close();
  });

  it('201 with the first response even after the animal has changed', async () => {
    const first = await post(api);
    await database.query(`UPDATE pets SET name = 'Renamed' WHERE id = $1`, [first.json.id]);
    expectReplay(await post(api), first);
  });

  it('201 again is counted and has current rate limit headers', async () => {
    const free = await createOwner(database, { plan: 'free' });
    const client = new ApiClient(service, free.key);
    const remaining: string[] = [];
    for (let time = 0; time < 3; time++) {
      const { headers } = await post(client);
      remaining.push(String(headers['x-ratelimit-remaining']));
    }
    expect(remaining).toEqual(['59', '58', '57']);
  });

  it.each([
    ['the order of members', '{"status":"available","categoryId":7,"name":"Frank"}'],
    ['the status that is the default', '{"name":"Frank","categoryId":7,"status":"available"}'],
    ['the notation of a number', '{"name":"Frank","categoryId":7.0}'],
    ['an exponent', '{"name":"Frank","categoryId":0.7e1}'],
    ['the notation of a letter', '{"name":"\\u0046rank","categoryId":7}'],
    ['white space', ' {\n"name" : "Frank",\t"categoryId" : 7 } '],
    ['members that an animal does not have', '{"id":5,"x":[],"name":"Frank","categoryId":7}'],
    ['a member given twice', '{"name":"Max","name":"Frank","categoryId":7}'],
  ])('201 again whatever differs of %s', async (_what, body) => {
    const first = await post(api);
    expectReplay(await post(api, body), first);
  });

  it.each<[string, unknown]>([
    ['name', { name: 'Max', categoryId: 7 }],
    ['notation of the name', { name: 'frank', categoryId: 7 }],
    ['category', { name: 'Frank', categoryId: 8 }],
    ['status', { name: 'Frank', categoryId: 7, status: 'sold' }],
  ])('422 idempotency_key_reused for another %s, and nothing is added', async (_what, body) => {
    const first = await post(api);
    const message = expectError(await post(api, body), 422, 'idempotency_key_reused');
    expect(message).toContain('Idempotency-Key');
    expect(await countOf(owner)).toEqual({ pets: 1, responses: 1 });
    expectReplay(await post(api), first);
  });

  it('422 for the next category even if both are the same double', async () => {
    await post(api, '{"name":"Frank","categoryId":9223372036854775806}');
    const other = await post(api, '{"name":"Frank","categoryId":9223372036854775807}');
    expectError(other, 422, 'idempotency_key_reused');
  });

  it('201 of its own for another key, and without one', async () => {
    const responses = [
      await post(api),
      await post(api, FRANK, 'K'),
      await api.post('/v1/pets', FRANK),
      await api.post('/v1/pets', FRANK),
    ];
    for (const response of responses) expectFirst(response);
    expect(await countOf(owner)).toEqual({ pets: 4, responses: 2 });
  });

  it('201 of its own for another owner', async () => {
    const other = await createOwner(database);
    expectFirst(await post(api));
    expectFirst(await post(new ApiClient(service, other.key), { name: 'Max', categoryId: 1 }));
  });

  it('201 again for another API key of the same owner', async () => {
    const { key } = await createKey(database, owner.id);
    const first = await post(api);
    expectReplay(await post(new ApiClient(service, key)), first);
  });

  it('201 again for 24 hours, of its own afterwards', async () => {
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
    expect(await countOf(owner)).toEqual({ pets: 2, responses: 1 });
  });
});

describe('POST /v1/pets › the form of Idempotency-Key', () => {
  it.each([
    ['a', '"a"'],
    ['x'.repeat(255), `"${'x'.repeat(255)}"`],
    ['a\\b', '"a\\\\b"'],
    [`a"b`, '"a\\"b"'],
  ])('201 again for a key bare and as a quoted string: %s', async (bare, quoted) => {
    const first = await post(api, FRANK, bare);
    expectReplay(await post(api, FRANK, quoted), first);
  });

  it.each<[string, string | string[]]>([
    ['is empty', ''],
    ['has a space', 'a b'],
    ['is two', 'a, b'],
    ['is sent twice', ['a', 'b']],
    ['is sent twice, the same', ['a', 'a']],
    ['is sent twice, one empty', ['', 'a']],
    ['is two halves of a string', ['"a', 'b"']],
    ['is a lone quote', '"'],
    ['is an empty string', '""'],
    ['is not ASCII', 'caf\u00e9'],
    ['has 256 characters', 'x'.repeat(256)],
  ])('400 with the name and the accepted values of the header when it %s', async (_what, value) => {
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': value };
    const response = await api.send('/v1/pets', {
      method: 'POST',
      headers,
      body: JSON.stringify(FRANK),
    });
    expect(expectError(response, 400, 'invalid_request')).toBe(FORM_MESSAGE);
    expect(await countOf(owner)).toEqual({ pets: 0, responses: 0 });
  });

  it.each([
    ['GET', '/v1/pets', 200],
    ['HEAD', '/v1/pets', 200],
    ['OPTIONS', '/v1/pets', 204],
    ['GET', '/v1/pets/0', 404],
  ])('%s %s ignores the header', async (method, path, status) => {
    for (const key of ['k', 'not one']) {
      const response = await api.send(path, { method, headers: { 'Idempotency-Key': key } });
      expect(response.status).toBe(status);
    }
  });
});

describe('POST /v1/pets with an Idempotency-Key and an invalid body', () => {
  it('400 before and after a first response, and it is not stored', async () => {
    const invalid = { name: '', categoryId: 7 };
    expectError(await post(api, invalid), 400, 'invalid_request');
    expectError(await post(api, '{'), 400, 'malformed_json');
    expect(await countOf(owner)).toEqual({ pets: 0, responses: 0 });

    const first = await post(api);
    expectFirst(first);
    expectError(await post(api, invalid), 400, 'invalid_request');
    expectError(await post(api, '{'), 400, 'malformed_json');
    expectReplay(await post(api), first);
  });
});

describe('POST /v1/pets while the first request with its Idempotency-Key is in progress', () => {
  it('409 at once on every replica for any body, and the first response afterwards', async () => {
    const first = await whileInProgress(await holdPets(database), async () => {
      for (const client of [api, elsewhere]) {
        for (const body of [FRANK, { ...FRANK, categoryId: 8 }]) {
          const response = await post(client, body);
          expectError(response, 409, 'idempotency_key_in_progress');
          expect(response.headers['retry-after']).toBe('1');
        }
      }
    });

    expectFirst(first);
    expectReplay(await post(elsewhere), first);
    expect(await countOf(owner)).toEqual({ pets: 1, responses: 1 });
  });

  it('201 for another key and for another owner', async () => {
    const other = new ApiClient(service, (await createOwner(database)).key);
    const lock = await holdTable(database, 'idempotency_keys', 'SHARE');
    const others: Promise<ApiResponse>[] = [];
    await whileInProgress(lock, async () => {
      others.push(post(api, FRANK, 'other'), post(other));
      expectError(await post(api), 409, 'idempotency_key_in_progress');
    });
    for (const response of others) expectFirst(await response);
  });

  it('400 for an invalid body', async () => {
    await whileInProgress(await holdPets(database), async () => {
      expectError(await post(api, { name: 'Frank' }), 400, 'invalid_request');
    });
  });

  it('409 and nothing added when a response is stored after the lookup', async () => {
    const other = new Client({ connectionString: database.url });
    await other.connect();
    await other.query('BEGIN');
    await other.query(
      `INSERT INTO idempotency_keys VALUES ($1, 'k', decode(repeat('00', 32), 'hex'), '{}', $2)`,
      [owner.id, new Date(service.nowMs() + DAY_MS)],
    );
    const late = post(api);
    await untilOneWaits();
    await other.query('COMMIT');
    await other.end();

    expectError(await late, 409, 'idempotency_key_in_progress');
    expect(await countOf(owner)).toEqual({ pets: 0, responses: 1 });
    expectError(await post(api), 422, 'idempotency_key_reused');
  });
});

describe('POST /v1/pets with an Idempotency-Key, many times at once', () => {
  it('one animal, and every response is 201 or 409', async () => {
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, index) => post(index % 2 ? api : elsewhere)),
    );
    const created = responses.filter(({ status }) => status === 201);
    for (const response of responses) {
      if (response.status !== 201) expectError(response, 409, 'idempotency_key_in_progress');
    }
    expect(new Set(created.map(({ text }) => text)).size).toBe(1);
    expect(
      created.filter(({ headers }) => headers['idempotent-replayed'] === undefined),
    ).toHaveLength(1);
    expect(await countOf(owner)).toEqual({ pets: 1, responses: 1 });
  });
});

describe('POST /v1/pets with an Idempotency-Key when the database fails', () => {
  it.each([
    ['the animal', 'pets'],
    ['the response', 'idempotency_keys'],
  ])(
    '503 when the connection breaks as %s is stored; neither is there, and a retry is the first',
    async (_what, table) => {
      const broken = await whileInProgress(await holdTable(database, table, 'SHARE'), async () => {
        await breakWaiting(table);
      });

      expectError(broken, 503, 'service_unavailable');
      expect(broken.headers['retry-after']).toMatch(/^[1-9]\d*$/);
      expect(await countOf(owner)).toEqual({ pets: 0, responses: 0 });
      expectFirst(await post(elsewhere));
      expect(await countOf(owner)).toEqual({ pets: 1, responses: 1 });
    },
  );

  it('500 is not stored, so a retry is the first request', async () => {
    await database.query('ALTER TABLE pets RENAME COLUMN category_id TO category');
    expectError(await post(api), 500, 'internal_error');
    await database.query('ALTER TABLE pets RENAME COLUMN category TO category_id');
    expectFirst(await post(api));
  });
});
