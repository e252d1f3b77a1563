import { createOwner } from '../../../harness/database/factories.js';
import { findPostgresPrograms } from '../../../harness/database/postgres-programs.js';
import { PostgresServer } from '../../../harness/database/postgres-server.js';
import { ApiClient } from '../../../harness/http/client.js';
import { until } from '../../../harness/run/until.js';
import { metric } from '../../../harness/service/metrics.js';
import { startService, type TestService } from '../../../harness/service/service.js';

const programs = findPostgresPrograms();
const item = { name: 'Frank', categoryId: 1 };

(programs ? describe : describe.skip)('without its synchronous standby, PostgreSQL', () => {
  let server: PostgresServer;
  let service: TestService;
  let api: ApiClient;

  beforeAll(async () => {
    server = await PostgresServer.create(programs!, { fsync: 'off' });
    const { key } = await createOwner(server.database);
    service = await startService({
      database: server.database,
      env: { DATABASE_STATEMENT_TIMEOUT_SECONDS: '2', MIGRATE_ON_START: 'false' },
    });
    api = new ApiClient(service, key);
  });
  afterAll(async () => {
    await service.close();
    await server.remove();
  });

  async function setStandby(value: string): Promise<void> {
    await server.query(`ALTER SYSTEM SET synchronous_standby_names = '${value}'`);
    await server.query('SELECT pg_reload_conf()');
    const shown = () => server.query('SHOW synchronous_standby_names');
    await until(async () => (await shown())[0]!['synchronous_standby_names'] === value);
  }

  const state = async () => {
    const { json } = await api.get('/health/ready');
    const writes = await metric(service, 'component_up{component="database_writes"}');
    return [json.status, json.checks.database, writes];
  };

  test.each([
    ['a create', {}],
    ['a create with an Idempotency-Key', { 'Idempotency-Key': 'one' }],
  ])(
    'commits nothing: %s is 503, and readiness is degraded until one succeeds',
    async (_title, headers) => {
      const create = () => api.post('/v1/items', item, headers);
      expect(await state()).toEqual(['ok', 'up', 1]);
      await setStandby('nobody');
      expect((await create()).status).toBe(503);
      expect(await state()).toEqual(['degraded', 'read-only', 0]);
      expect((await api.get('/v1/items')).status).toBe(200);
      const { cause } = await service.waitForLog(({ msg }) => msg === 'component changed');
      expect(cause).toBe('Connection terminated: no response from PostgreSQL in 2.25 s');
      await setStandby('');
      await until(async () => (await create()).status === 201);
      expect(await state()).toEqual(['ok', 'up', 1]);
    },
  );
});
