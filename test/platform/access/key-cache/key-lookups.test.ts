import { randomBytes } from 'node:crypto';
import { hashKey } from '../../../../src/platform/access/key-format.js';
import { createOwner } from '../../../harness/database/factories.js';
import { holdItems, holdTable } from '../../../harness/database/database-lock.js';
import { Relay } from '../../../harness/database/relay.js';
import { type ApiResponse, ApiClient } from '../../../harness/http/client.js';
import { expectError } from '../../../harness/http/error-response.js';
import { type Store, useStore } from '../../../harness/http/store.js';
import { limitsOf, SECOND_MS } from '../../../harness/rate-limit/limits.js';
import { until } from '../../../harness/run/until.js';

/** The probe of a busy machine must not take the database for unreachable. */
const PATIENT_PROBE = { READINESS_TIMEOUT_SECONDS: '30' };
/** No statement ends before the test lets it. */
const PATIENT_STATEMENTS = {
  DATABASE_STATEMENT_TIMEOUT_SECONDS: '60',
  DATABASE_LOCK_TIMEOUT_SECONDS: '60',
};

const ask = ({ service }: Store, key: string, path = '/v1/nothing'): Promise<ApiResponse> =>
  new ApiClient(service, key).get(path);

const revoke = (store: Store, ownerId: string) =>
  store.query('UPDATE api_keys SET revoked_at = now() WHERE owner_id = $1', [ownerId]);

/** Expects 503 with the limits of the address, which two requests without an API key show before and after it. */
async function expectUnavailable(store: Store, request: () => Promise<ApiResponse>): Promise<void> {
  const ofAddress = async () => limitsOf(await store.anonymous.get('/v1/nothing')).remaining;
  const before = await ofAddress();
  const response = await request();
  expectError(response, 503, 'service_unavailable');
  expect(limitsOf(response)).toMatchObject({ limit: 300, remaining: before });
  // The request is not counted.
  expect(await ofAddress()).toBe(before - 1);
}

/** The database responds all the time, only not in time to what needs the locked table. */
describe('while the database is overloaded', () => {
  const store = useStore({
    env: {
      ...PATIENT_PROBE,
      ...PATIENT_STATEMENTS,
      DATABASE_POOL_SIZE: '1',
      DATABASE_POOL_WAIT_SECONDS: '2',
    },
  });

  test('GET /v1/nothing › 503, not the last known state, and 200 for a probe: every connection is busy', async () => {
    // On a busy machine, the wait for a connection can exceed the limit without a lock.
    await until(async () => (await ask(store, store.owner.key)).status === 404);
    // So can the start of the connection of the probe, which would take the database for unreachable.
    await until(async () => (await store.anonymous.get('/health/ready')).status === 200);
    const lock = await holdItems(store.database);
    const waiting = store.api.get('/v1/items');
    await lock.waitedFor();
    await store.service.advance(5 * SECOND_MS);
    await expectUnavailable(store, async () => {
      const [ready, response] = await Promise.all([
        store.anonymous.get('/health/ready'),
        ask(store, store.owner.key),
      ]);
      expect(ready.status).toBe(200);
      return response;
    });
    await lock.release();
    await waiting;
    await until(async () => (await ask(store, store.owner.key)).status === 404);
  });
});

describe('while a lookup takes longer than a statement may', () => {
  const store = useStore({ env: { ...PATIENT_PROBE, DATABASE_STATEMENT_TIMEOUT_SECONDS: '2' } });

  test('GET /v1/nothing › 503, not the last known state: the server cancels the lookup', async () => {
    await until(async () => (await ask(store, store.owner.key)).status === 404);
    const lock = await holdTable(store.database, 'api_keys', 'ACCESS EXCLUSIVE');
    await store.service.advance(5 * SECOND_MS);
    await expectUnavailable(store, () => ask(store, store.owner.key));
    await lock.release();
    await until(async () => (await ask(store, store.owner.key)).status === 404);
  });
});

describe('with a server that allows four connections', () => {
  const role = `limited_${randomBytes(6).toString('hex')}`;
  const store = useStore(async (database) => {
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'limited'`);
    await database.query(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`);
    await database.query(`ALTER ROLE ${role} CONNECTION LIMIT 4`);
    const url = new URL(database.url);
    url.username = role;
    url.password = 'limited';
    const env = { MIGRATE_ON_START: 'false', DATABASE_POOL_SIZE: '5' };
    return { database: { ...database, url: url.href }, env };
  });

  test('GET and POST /v1/items › a burst gets 200 and 201 on the connections that the start has opened', async () => {
    const warning = await store.service.waitForLog(({ level }) => Number(level) >= 40);
    expect(warning).toMatchObject({
      // The server may still count a connection of the migrations.
      msg: expect.stringMatching(/^Only [23] database connections: .*too many connections/),
    });
    const burst = Array.from({ length: 100 }, (_, index) =>
      index % 2
        ? store.api.get('/v1/items')
        : store.api.post('/v1/items', { name: 'a', categoryId: 1 }),
    );
    const statuses = new Set((await Promise.all(burst)).map(({ status }) => status));
    expect([...statuses].sort()).toEqual([200, 201]);
    await revoke(store, store.owner.id);
    await store.service.advance(5 * SECOND_MS);
    expectError(await store.api.get('/v1/items'), 401, 'invalid_api_key');
    await store.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });
});

describe('with a network that delays one response', () => {
  let relay: Relay;
  const store = useStore(async (database) => {
    relay = await Relay.open(database.url);
    return { database: { ...database, url: relay.url }, env: PATIENT_STATEMENTS };
  });

  test('GET /v1/nothing › a lookup that ends after a later one does not replace the later state', async () => {
    const owner = await createOwner(store.database, { name: 'Held' });
    const hash = hashKey(owner.key);
    // The server reads the first state at once, and it arrives after the second one.
    const isRead = relay.untilReceived(Buffer.from('Held'));
    relay.holdOneAfter(hash);
    const early = ask(store, owner.key);
    await isRead;
    await revoke(store, owner.id);
    await store.service.advance(5 * SECOND_MS);
    expectError(await ask(store, owner.key), 401, 'invalid_api_key');
    await relay.restore();
    expect((await early).status).toBe(404);
    // Without the database, the service uses the last state that it knows.
    await relay.cut();
    expectError(await ask(store, owner.key), 401, 'invalid_api_key');
  });
});
