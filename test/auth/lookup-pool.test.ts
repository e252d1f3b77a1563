import { unknownKey } from '../harness/database/api-keys.js';
import { type ApiResponse, ApiClient, send } from '../harness/http/client.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { holdPets, holdTable } from '../harness/database/database-lock.js';
import { expectError } from '../harness/http/error-response.js';
import { createOwner, type TestOwner } from '../harness/database/factories.js';
import { limitsOf, notifyChange, SECOND_MS } from '../harness/rate-limit/limits.js';
import { findPostgresPrograms } from '../harness/database/postgres-programs.js';
import { PostgresServer } from '../harness/database/postgres-server.js';
import { type Relay, startRelay } from '../harness/database/relay.js';
import { metric } from '../harness/service/metrics.js';
import {
  type BuiltService,
  type Environment,
  startBuiltService,
  startService,
  type TestService,
} from '../harness/service/service.js';

/** Longer than a test, so that requests wait for the database until the test continues. */
const PATIENT = {
  DATABASE_POOL_WAIT_SECONDS: '30',
  DATABASE_STATEMENT_TIMEOUT_SECONDS: '30',
  DATABASE_LOCK_TIMEOUT_SECONDS: '30',
};
const LOOKUPS = 'pets lookups';

const programs = findPostgresPrograms();

let database: TestDatabase;
let relay: Relay;
let service: TestService;

beforeAll(async () => {
  database = await createDatabase();
  relay = await startRelay(database.url);
});
afterAll(async () => {
  await relay.close();
  await database.close();
});

async function start(env: Environment): Promise<void> {
  service = await startService({
    database: { ...database, url: relay.url },
    env,
  });
}

const ask = (key: string, path = '/v1/nothing'): Promise<ApiResponse> =>
  new ApiClient(service, key).get(path);

async function revoke(ownerId: string): Promise<void> {
  await database.query('UPDATE api_keys SET revoked_at = now() WHERE owner_id = $1', [ownerId]);
}

describe('while every connection that serves requests is busy', () => {
  let release: () => Promise<void>;
  let waiting: Promise<ApiResponse>;
  let cached: { id: string; key: string };

  beforeAll(() => start({ ...PATIENT, DATABASE_POOL_SIZE: '1' }));
  beforeEach(async () => {
    cached = await createOwner(database);
    const { key } = await createOwner(database);
    for (const each of [cached.key, key]) expect((await ask(each)).status).toBe(404);
    const lock = await holdPets(database);
    waiting = ask(key, '/v1/pets');
    await lock.waitedFor();
    release = () => lock.release();
  });
  afterEach(async () => {
    await release();
    expect((await waiting).status).toBe(200);
  });
  afterAll(() => service.close());

  test('GET /v1/nothing › 401 for a cached key whose revocation was notified', async () => {
    await revoke(cached.id);
    await notifyChange(database, cached.id);
    while ((await ask(cached.key)).status !== 401);
  });

  test('GET /v1/nothing › 401 five seconds after the revocation of a cached key that was not notified', async () => {
    await revoke(cached.id);
    await service.advance(5 * SECOND_MS);
    expectError(await ask(cached.key), 401, 'invalid_api_key');
  });

  test('GET /v1/nothing › 404 for a key that is not cached, 401 for one that does not exist', async () => {
    const { key } = await createOwner(database);
    expect((await ask(key)).status).toBe(404);
    expectError(await ask(unknownKey()), 401, 'invalid_api_key');
  });

  test('GET /health/ready › 200', async () => {
    expect((await send(service, '/health/ready')).status).toBe(200);
  });
});

describe('while the lookup of a cached key fails and the database responds to other queries', () => {
  const TIMEOUTS = {
    DATABASE_POOL_WAIT_SECONDS: '0.3',
    DATABASE_STATEMENT_TIMEOUT_SECONDS: '0.3',
    DATABASE_LOCK_TIMEOUT_SECONDS: '0.3',
  };

  beforeAll(() => start(TIMEOUTS));
  afterEach(() => relay.restore());
  afterAll(() => service.close());

  /** Expects 503 with the limits of the address. The request is not counted. */
  async function expectUnavailable(key: string): Promise<void> {
    const remaining = limitsOf(await send(service, '/v1/nothing')).remaining;
    const response = await ask(key);
    expectError(response, 503, 'service_unavailable');
    expect(response.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(limitsOf(response)).toMatchObject({ limit: 300, remaining });
  }

  test('GET /v1/nothing › 503, not the last known state: the server cancels the lookup', async () => {
    const { key } = await createOwner(database);
    expect((await ask(key)).status).toBe(404);
    const lock = await holdTable(database, 'api_keys', 'ACCESS EXCLUSIVE');
    try {
      await service.advance(5 * SECOND_MS);
      await expectUnavailable(key);
    } finally {
      await lock.release();
    }
    expect((await ask(key)).status).toBe(404);
  });

  test.each([
    ['after a notified change', (id: string) => notifyChange(database, id)],
    ['when its state is too old', () => service.advance(5 * SECOND_MS)],
  ])(
    'GET /v1/nothing › 503, not the last known state, %s: lookups get no response',
    async (_title, becomesStale) => {
      const [owner, other] = [await createOwner(database), await createOwner(database)];
      expect((await ask(owner.key)).status).toBe(404);
      await becomesStale(owner.id);
      // The other key is not stale. Its requests use the connections that serve requests.
      expect((await ask(other.key, '/v1/pets')).status).toBe(200);
      relay.hold(LOOKUPS);
      const load = { isDone: false };
      const others = (async () => {
        while (!load.isDone) expect((await ask(other.key, '/v1/pets')).status).toBe(200);
      })();
      try {
        // A notification may arrive only after the first request.
        let response = await ask(owner.key);
        while (response.status === 404) response = await ask(owner.key);
        expectError(response, 503, 'service_unavailable');
      } finally {
        load.isDone = true;
        await others;
      }
    },
  );
});

(programs === undefined ? describe.skip : describe)(
  'with a server that has no connection left',
  () => {
    let server: PostgresServer;

    beforeAll(async () => {
      server = await PostgresServer.create(programs!, { fsync: 'off' });
    });
    afterAll(async () => {
      await service.close();
      await server.remove();
    });

    test('GET /v1/nothing › a cached key is looked up on a connection that serves requests', async () => {
      await server.query('CREATE ROLE limited LOGIN');
      await server.query('GRANT SELECT ON ALL TABLES IN SCHEMA public TO limited');
      const url = new URL(server.url);
      url.username = 'limited';
      service = await startService({
        database: { ...server.database, url: url.href },
        env: { DATABASE_DIRECT_URL: server.url, DATABASE_POOL_SIZE: '1' },
      });
      const owner = await createOwner(server.database);
      expect((await ask(owner.key)).status).toBe(404);
      expect((await ask(owner.key, '/v1/pets')).status).toBe(200);
      // The connection that serves requests.
      await server.query('ALTER ROLE limited CONNECTION LIMIT 1');
      await service.advance(5 * SECOND_MS);
      expect((await ask(owner.key)).status).toBe(404);
      expect((await send(service, '/health/ready')).status).toBe(200);
      await server.query('UPDATE api_keys SET revoked_at = now()');
      await service.advance(5 * SECOND_MS);
      expectError(await ask(owner.key), 401, 'invalid_api_key');
    });
  },
);

describe('while the queue of lookups is full', () => {
  const CONNECTIONS = 2;
  const QUEUE = 5;
  let built: BuiltService;

  beforeAll(async () => {
    built = await startBuiltService({
      ...PATIENT,
      DATABASE_URL: relay.url,
      DATABASE_DIRECT_URL: database.url,
      DATABASE_LOOKUP_POOL_SIZE: String(CONNECTIONS),
      DATABASE_QUEUE_SIZE: String(QUEUE),
      METRICS_PORT: '0',
    });
  });
  afterAll(() => built.stop());

  test('GET /v1/nothing › 503 at once for the next key that is not cached, 404 and 401 as usual for others', async () => {
    const cached = await createOwner(database);
    const others: TestOwner[] = [];
    while (others.length < CONNECTIONS + QUEUE + 1) others.push(await createOwner(database));
    const ask = (key: string) => new ApiClient(built, key).get('/v1/nothing');
    expect((await ask(cached.key)).status).toBe(404);
    const last = others.pop()!;

    const lock = await holdTable(database, 'api_keys', 'ACCESS EXCLUSIVE');
    const waiting = others.map(({ key }) => ask(key));
    try {
      while ((await metric(built, 'pets_key_lookups_pending')) < QUEUE);
      const rejected = await ask(last.key);
      expectError(rejected, 503, 'service_unavailable');
      expect(rejected.headers['retry-after']).toMatch(/^[1-9]\d*$/);
      expect(limitsOf(rejected)).toMatchObject({ limit: 300, remaining: 300 });
      expect(await metric(built, 'pets_key_lookups_rejected_total')).toBe(1);
      expectError(await ask(unknownKey()), 401, 'invalid_api_key');
      expect((await ask(cached.key)).status).toBe(404);
    } finally {
      await lock.release();
    }
    for (const { status } of await Promise.all(waiting)) expect(status).toBe(404);
  });
});
