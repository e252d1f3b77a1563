import { randomBytes } from 'node:crypto';
import { unknownKey } from '../harness/database/api-keys.js';
import { type DatabaseLock, holdPets, holdTable } from '../harness/database/database-lock.js';
import { createOwner, type TestOwner } from '../harness/database/factories.js';
import { Relay } from '../harness/database/relay.js';
import { type ApiResponse, ApiClient } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { type Store, useStore } from '../harness/http/store.js';
import { limitsOf, SECOND_MS } from '../harness/rate-limit/limits.js';
import { metric, untilMetric } from '../harness/service/metrics.js';

const CONNECTIONS = 2;
const QUEUE = 5;

/** Longer than a test, so that requests wait for the database until the test continues. */
const PATIENT = {
  DATABASE_POOL_WAIT_SECONDS: '30',
  DATABASE_STATEMENT_TIMEOUT_SECONDS: '30',
  DATABASE_LOCK_TIMEOUT_SECONDS: '30',
};

const ask = ({ service }: Store, key: string, path = '/v1/nothing'): Promise<ApiResponse> =>
  new ApiClient(service, key).get(path);

const revoke = (store: Store, ownerId: string) =>
  store.query('UPDATE api_keys SET revoked_at = now() WHERE owner_id = $1', [ownerId]);

/** Expects 503 with the limits of the address. The request is not counted. */
async function expectUnavailable(store: Store, response: ApiResponse): Promise<void> {
  expectError(response, 503, 'service_unavailable');
  expect(response.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  const { remaining } = limitsOf(await store.anonymous.get('/v1/nothing'));
  expect(limitsOf(response)).toMatchObject({ limit: 300, remaining: remaining + 1 });
}

describe('while every connection that serves requests is busy', () => {
  const store = useStore({
    env: {
      ...PATIENT,
      DATABASE_POOL_SIZE: '1',
      DATABASE_LOOKUP_POOL_SIZE: String(CONNECTIONS),
      DATABASE_QUEUE_SIZE: String(QUEUE),
    },
  });
  let lock: DatabaseLock;
  let waiting: Promise<ApiResponse>;
  let cached: TestOwner;

  beforeEach(async () => {
    cached = await createOwner(store.database);
    for (const { key } of [cached, store.owner]) expect((await ask(store, key)).status).toBe(404);
    lock = await holdPets(store.database);
    waiting = store.api.get('/v1/pets');
    await lock.waitedFor();
  });
  afterEach(async () => {
    await lock.release();
    expect((await waiting).status).toBe(200);
  });

  test('GET /v1/nothing › 401 five seconds after the revocation of a cached key', async () => {
    await revoke(store, cached.id);
    await store.service.advance(5 * SECOND_MS);
    expectError(await ask(store, cached.key), 401, 'invalid_api_key');
  });

  test('GET › 404 for a key that is not cached, 401 for one that does not exist, 200 for a probe', async () => {
    const { key } = await createOwner(store.database);
    expect((await ask(store, key)).status).toBe(404);
    expectError(await ask(store, unknownKey()), 401, 'invalid_api_key');
    expect((await store.anonymous.get('/health/ready')).status).toBe(200);
  });

  test('GET /v1/nothing › 503 at once for the next key that is not cached while the queue of lookups is full, 404 and 401 as usual for others', async () => {
    const keys: string[] = [];
    // One place of the queue is for the readiness that the metrics report.
    while (keys.length < CONNECTIONS + QUEUE) keys.push((await createOwner(store.database)).key);
    const [last = '', ...others] = keys;
    const keyLock = await holdTable(store.database, 'api_keys', 'ACCESS EXCLUSIVE');
    const responses = others.map((key) => ask(store, key));
    await untilMetric(store.service, 'pets_key_lookups_pending', (count) => count === QUEUE);
    await expectUnavailable(store, await ask(store, last));
    expect(await metric(store.service, 'pets_key_lookups_rejected_total')).toBe(1);
    expectError(await ask(store, unknownKey()), 401, 'invalid_api_key');
    expect((await ask(store, cached.key)).status).toBe(404);
    await keyLock.release();
    for (const { status } of await Promise.all(responses)) expect(status).toBe(404);
  });
});

describe('while the lookup of a cached key fails and the database responds to other queries', () => {
  let relay: Relay;
  const store = useStore(async (database) => {
    relay = await Relay.open(database.url);
    const env = {
      DATABASE_POOL_WAIT_SECONDS: '0.3',
      DATABASE_STATEMENT_TIMEOUT_SECONDS: '0.3',
      DATABASE_LOCK_TIMEOUT_SECONDS: '0.3',
    };
    return { database: { ...database, url: relay.url }, env };
  });
  afterEach(() => relay.restore());

  test('GET /v1/nothing › 503, not the last known state: the server cancels the lookup', async () => {
    expect((await ask(store, store.owner.key)).status).toBe(404);
    const lock = await holdTable(store.database, 'api_keys', 'ACCESS EXCLUSIVE');
    await store.service.advance(5 * SECOND_MS);
    await expectUnavailable(store, await ask(store, store.owner.key));
    await lock.release();
    expect((await ask(store, store.owner.key)).status).toBe(404);
  });

  test('GET /v1/nothing › 503, not the last known state: lookups get no response', async () => {
    const owner = await createOwner(store.database);
    expect((await ask(store, owner.key)).status).toBe(404);
    await store.service.advance(5 * SECOND_MS);
    // The other key was looked up now. Its requests use the connections that serve requests.
    expect((await store.api.get('/v1/pets')).status).toBe(200);
    relay.hold('pets lookups');
    const load = { isDone: false };
    const others = (async () => {
      while (!load.isDone) expect((await store.api.get('/v1/pets')).status).toBe(200);
    })();
    const response = await ask(store, owner.key);
    load.isDone = true;
    await others;
    expectError(response, 503, 'service_unavailable');
  });
});

describe('with a server that allows four connections', () => {
  const role = `limited_${randomBytes(6).toString('hex')}`;
  const store = useStore(async (database) => {
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'limited'`);
    await database.query(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`);
    await database.query(`ALTER ROLE ${role} CONNECTION LIMIT 4`);
    const url = new URL(database.url);
    [url.username, url.password] = [role, 'limited'];
    const env = { MIGRATE_ON_START: 'false', DATABASE_POOL_SIZE: '5' };
    return { database: { ...database, url: url.href }, env };
  });

  test('GET and POST /v1/pets › a burst gets 200 and 201 on the connections that the start has opened', async () => {
    const warning = await store.service.waitForLog(({ level }) => Number(level) >= 40);
    expect(warning).toMatchObject({
      msg: expect.stringMatching(/^Only 2 database connections: .*too many connections/),
    });
    const burst = Array.from({ length: 100 }, (_, index) =>
      index % 2
        ? store.api.get('/v1/pets')
        : store.api.post('/v1/pets', { name: 'a', categoryId: 1 }),
    );
    const statuses = new Set((await Promise.all(burst)).map(({ status }) => status));
    expect([...statuses].sort()).toEqual([200, 201]);
    await revoke(store, store.owner.id);
    await store.service.advance(5 * SECOND_MS);
    expectError(await store.api.get('/v1/pets'), 401, 'invalid_api_key');
    await store.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });
});
