import { randomBytes } from 'node:crypto';
import { holdTable } from '../../../harness/database/database-lock.js';
import { ApiClient } from '../../../harness/http/client.js';
import { useStore } from '../../../harness/http/store.js';
import { Cli } from '../../../harness/processes/command.js';
import { until } from '../../../harness/run/until.js';

const NO_FURTHER =
  /^The database allows no further connection\. Lower DATABASE_POOL_SIZE .*53300: /;

const role = `full_${randomBytes(6).toString('hex')}`;
let url: string;
const store = useStore(async (database) => {
  await database.query(`CREATE ROLE ${role} LOGIN SUPERUSER`);
  const address = new URL(database.url);
  address.username = role;
  url = address.href;
  return { database: { ...database, url }, env: { MIGRATE_ON_START: 'false' } };
});

test('the server allows no connection › readiness and a command say so, until it does', async () => {
  const ready = () => new ApiClient(store.service).get('/health/ready');
  expect((await ready()).status).toBe(200);
  await store.query(`ALTER ROLE ${role} NOSUPERUSER CONNECTION LIMIT 0`);
  const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`;
  await store.query(end);
  await until(async () => (await ready()).status === 503);
  const changed = await store.service.waitForLog(({ state }) => state === 'down');
  expect(changed).toMatchObject({
    component: 'database',
    cause: expect.stringMatching(NO_FURTHER),
  });
  expect((await store.api.get('/v1/items')).status).toBe(503);
  expect(await new Cli({ DATABASE_URL: url }).failure(1, 'keys', 'list')).toMatch(NO_FURTHER);
  await store.query(`ALTER ROLE ${role} SUPERUSER`);
  await until(async () => (await store.api.get('/v1/items')).status === 200);
  expect((await ready()).status).toBe(200);
  await store.query(`DROP ROLE ${role}`);
});

test('a command holds one connection while its statement waits for a lock', async () => {
  const reader = `reader_${randomBytes(6).toString('hex')}`;
  await store.query(`CREATE ROLE ${reader} LOGIN IN ROLE pg_read_all_data`);
  const address = new URL(url);
  address.username = reader;
  const cli = new Cli({ DATABASE_URL: address.href });
  const lock = await holdTable(store.database, 'owners', 'ACCESS EXCLUSIVE');
  const listed = cli.json('keys', 'list');
  await lock.waitedFor();
  const ofReader = `FROM pg_stat_activity WHERE usename = '${reader}'`;
  // PostgreSQL may not have closed the connection of the schema check yet.
  await until(async () => (await store.query(`SELECT ${ofReader}`)).length === 1);
  await lock.release();
  expect(await listed).toEqual([expect.anything()]);
  await store.query(`SELECT pg_terminate_backend(pid, 60000) ${ofReader}`);
  await store.query(`DROP ROLE ${reader}`);
});
