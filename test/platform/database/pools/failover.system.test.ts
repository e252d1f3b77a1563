import { ApiClient } from '../../../harness/http/client.js';
import { createOwner } from '../../../harness/database/factories.js';
import { findPostgresPrograms } from '../../../harness/database/postgres-programs.js';
import { PostgresServer } from '../../../harness/database/postgres-server.js';
import { Relay } from '../../../harness/database/relay.js';
import { until } from '../../../harness/run/until.js';
import { failuresOf } from '../../../harness/service/failing-starts.js';
import { metric } from '../../../harness/service/metrics.js';
import { startService, type TestService } from '../../../harness/service/service.js';

const programs = findPostgresPrograms();
/** More than the connections of the pool. */
const BURST = 24;

(programs === undefined ? describe.skip : describe)('a failover by the name of the server', () => {
  const servers: PostgresServer[] = [];
  let primary: PostgresServer;
  let standby: PostgresServer;
  let name: Relay;
  let service: TestService;
  let api: ApiClient;
  let ownerKey: string;

  beforeAll(async () => {
    primary = await PostgresServer.create(programs!);
    servers.push(primary);
    ({ key: ownerKey } = await createOwner(primary.database));
    standby = await primary.createStandby();
    servers.push(standby);
    name = await Relay.open(primary.url);
    service = await startService({
      database: primary.database,
      env: { DATABASE_URL: name.url, MIGRATE_ON_START: 'false' },
    });
    api = new ApiClient(service, ownerKey);
  });
  afterAll(async () => {
    await service.close();
    await name.cut();
    for (const server of servers.reverse()) await server.remove();
  });

  /** The name leads to the old primary for a while, which is read-only by now. */
  async function leadToStandby(): Promise<void> {
    name.leadTo(standby.url);
    await name.cut();
    await name.restore();
  }

  const item = { name: 'Frank', categoryId: 1 };
  let keys = 0;
  const create = () => api.post('/v1/items', item);
  const createWithKey = () => api.post('/v1/items', item, { 'Idempotency-Key': `key-${keys++}` });
  /** Returns the statuses of creates that need all connections, each once. */
  async function createMany(): Promise<number[]> {
    const responses = Array.from({ length: BURST }, (_, index) =>
      index % 2 ? create() : createWithKey(),
    );
    const statuses = (await Promise.all(responses)).map(({ status }) => status);
    return [...new Set(statuses)];
  }
  const state = async () => {
    const { json } = await api.get('/health/ready');
    const writes = await metric(service, 'component_up{component="database_writes"}');
    return [json.status, json.checks.database, writes];
  };

  test.each([
    ['create', create],
    ['create with an Idempotency-Key', createWithKey],
  ])('every %s succeeds after the name leads to the primary', async (_title, send) => {
    await leadToStandby();
    await until(async () => (await api.get('/v1/items')).status === 200);
    expect((await send()).status).toBe(503);
    expect(await state()).toEqual(['degraded', 'read-only', 0]);
    name.leadTo(primary.url);
    await until(async () => (await createMany()).join() === '201', 10_000);
    await until(async () => (await state()).join() === 'ok,up,1', 10_000);
    expect(await createMany()).toEqual([201]);
  });

  test('readiness and the metric recover without a write, and then every create succeeds', async () => {
    await leadToStandby();
    await until(async () => (await api.get('/v1/items')).status === 200);
    expect(await state()).toEqual(['degraded', 'read-only', 0]);
    const changed = await service.waitForLog(({ state: current }) => current === 'read-only');
    expect(changed).toMatchObject({
      msg: 'component changed',
      cause: expect.stringMatching(/read-only/),
    });
    name.leadTo(primary.url);
    await until(async () => (await state()).join() === 'ok,up,1', 10_000);
    expect(await createMany()).toEqual([201]);
  });

  describe('with target_session_attrs', () => {
    const environment = (target: string, url: string) => ({
      DATABASE_URL: `${url}?target_session_attrs=${target}`,
      MIGRATE_ON_START: 'false',
    });

    test.each(['read-write', 'primary'])(
      '%s, no connection to the standby is used, and the primary is used again',
      async (target) => {
        name.leadTo(primary.url);
        const env = environment(target, name.url);
        const own = await startService({ database: primary.database, env });
        const client = new ApiClient(own, ownerKey);
        expect((await client.get('/v1/items')).status).toBe(200);
        await leadToStandby();
        await until(async () => (await client.get('/health/ready')).status === 503);
        const changed = await own.waitForLog(({ msg }) => msg === 'component changed');
        expect(changed['cause']).toMatch(
          RegExp(`target_session_attrs is ${target}, but the server is a standby$`),
        );
        expect((await client.get('/v1/items')).status).toBe(503);
        name.leadTo(primary.url);
        await until(async () => (await client.post('/v1/items', item)).status === 201);
        await own.close();
      },
    );

    test('read-write and primary, the start fails on a standby, and read-write on a primary whose sessions are read-only, as by libpq', async () => {
      await primary.query('CREATE ROLE reader SUPERUSER LOGIN');
      await primary.query('ALTER ROLE reader SET default_transaction_read_only = on');
      const readOnlyUrl = primary.url.replace('postgres@', 'reader@');
      const failures = await failuresOf([
        environment('read-write', standby.url),
        environment('primary', standby.url),
        environment('read-write', readOnlyUrl),
      ]);
      expect(failures).toEqual(
        [
          'target_session_attrs is read-write, but the server is a standby',
          'target_session_attrs is primary, but the server is a standby',
          'target_session_attrs is read-write, but the server is read-only',
        ].map((cause) => ['StartError', `DATABASE_URL: The database cannot be used: ${cause}`]),
      );
      for (const target of ['primary', 'any']) {
        const env = environment(target, readOnlyUrl);
        const own = await startService({ database: primary.database, env });
        expect((await new ApiClient(own, ownerKey).post('/v1/items', item)).status).toBe(201);
        await own.close();
      }
    });

    test('any, the service starts on a standby', async () => {
      const env = environment('any', standby.url);
      const own = await startService({ database: standby.database, env });
      await until(async () => (await new ApiClient(own, ownerKey).get('/v1/items')).status === 200);
      await own.close();
    });
  });
});
