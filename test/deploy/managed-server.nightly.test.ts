import { join } from 'node:path';
import { findPostgresPrograms } from '../harness/database/postgres-programs.js';
import { connectionsTo, ROLES } from '../harness/database/roles.js';
import { PostgresServer } from '../harness/database/postgres-server.js';
import { ApiClient } from '../harness/http/client.js';
import { Cli } from '../harness/processes/command.js';
import { EmbeddedUser, makeFolder, onLinux } from '../harness/processes/embedded-user.js';
import { startBuiltService } from '../harness/service/service.js';

// The administrator of a managed server (RDS, Cloud SQL, Azure, Supabase) is no superuser. From PostgreSQL 16 on, CREATEROLE gives
// fewer rights, so these tests need an older server too.

const PERMISSION_DENIED = { code: '42501' };

interface Server {
  url: URL;
  stop: () => Promise<unknown>;
}

async function startInstalled(programs: string): Promise<Server> {
  const server = await PostgresServer.create(programs);
  return { url: new URL(server.url), stop: () => server.remove() };
}

async function startEmbedded(): Promise<Server> {
  const process = new EmbeddedUser(join(makeFolder(), '.data'), 'service');
  const { user, host, port } = (await process.opened()).connection;
  const url = new URL(`postgres://${user}@localhost:${port}/postgres`);
  url.searchParams.set('host', host);
  return { url, stop: () => process.close() };
}

const programs = findPostgresPrograms();
const SERVERS: [name: string, start: () => Promise<Server>][] = [
  ...(programs === undefined
    ? []
    : [['installed PostgreSQL', () => startInstalled(programs)] as (typeof SERVERS)[number]]),
  ...(onLinux ? [['embedded PostgreSQL', startEmbedded] as (typeof SERVERS)[number]] : []),
];

describe.each(SERVERS)('on the %s, as a role without superuser', (_, start) => {
  let server: Server;

  const { addressOf, run } = connectionsTo(() => server.url.href);

  beforeAll(async () => {
    server = await start();
  });
  afterEach(async () => {
    await run('postgres', 'DROP DATABASE managed WITH (FORCE)');
    // The role of the store is a member of the others.
    for (const role of ['one', 'pets_owner', 'pets_service', 'admin'])
      await run('postgres', `DROP ROLE IF EXISTS ${role}`);
  });
  afterAll(() => server.stop());

  test.each(['CREATEDB', 'NOCREATEDB'])(
    'roles.sql runs twice with %s, the owner migrates, and the service serves',
    async (createDatabase) => {
      await run('postgres', `CREATE ROLE admin LOGIN CREATEROLE ${createDatabase}`);
      const [version] = await run('postgres', 'SHOW server_version_num');
      // Before version 16, this setting does not exist.
      if (Number(version?.['server_version_num']) >= 160_000)
        await run('postgres', `ALTER ROLE admin SET createrole_self_grant = 'set'`);
      await run('postgres', 'CREATE DATABASE managed OWNER admin');
      // The superuser of the provider has created it.
      await run('managed', 'CREATE EXTENSION pg_stat_statements');
      await run('managed', ROLES, 'admin');
      const owner = new Cli({ DATABASE_URL: addressOf('managed', 'pets_owner') });
      await owner.run('db', 'migrate');
      await run('managed', ROLES, 'admin');
      const args = ['--owner', 'shelter', '--plan', 'pro'];
      const { key } = (await owner.json('keys', 'issue', ...args)) as { key: string };
      const service = await startBuiltService({
        DATABASE_URL: addressOf('managed', 'pets_service'),
        MIGRATE_ON_START: 'false',
      });
      const api = new ApiClient(service, key);
      const headers = { 'Idempotency-Key': 'adoption-1' };
      const item = { name: 'Frank', categoryId: 1 };
      expect(await api.post('/v1/items', item, headers)).toMatchObject({ status: 201 });
      expect(await api.get('/v1/items')).toMatchObject({ status: 200, json: [item] });

      // The administrator sees and ends the sessions of the service.
      const sessions = `SELECT pg_terminate_backend(pid) AS ended, query <> '' AS is_shown
        FROM pg_stat_activity WHERE usename = 'pets_service'`;
      expect(
        new Set((await run('managed', sessions, 'admin')).map((row) => JSON.stringify(row))),
      ).toEqual(new Set(['{"ended":true,"is_shown":true}']));
      await service.stop();
      for (const sql of [
        `UPDATE owners SET name = 'mine'`,
        'DELETE FROM operator_actions',
        'CREATE TABLE mine (id bigint)',
        'SET ROLE pets_owner',
        'SET ROLE admin',
      ])
        await expect(run('managed', sql, 'pets_service')).rejects.toMatchObject(PERMISSION_DENIED);
      await run('managed', 'CREATE TABLE later (id bigserial, note text)', 'pets_owner');
      await run('managed', `INSERT INTO later (note) VALUES ('a')`, 'pets_service');
    },
  );

  test.each(['admin', 'one'])(
    'a store with one role, which is %s, gets these roles',
    async (role) => {
      await run('postgres', 'CREATE ROLE admin LOGIN CREATEROLE CREATEDB');
      if (role === 'one') await run('postgres', 'CREATE ROLE one LOGIN', 'admin');
      await run('postgres', 'CREATE DATABASE managed OWNER admin');
      await run('managed', `GRANT CREATE ON SCHEMA public TO ${role}`);
      const old = new Cli({ DATABASE_URL: addressOf('managed', role) });
      await old.run('db', 'migrate');
      await old.json('keys', 'issue', '--owner', 'shelter', '--plan', 'pro');
      const feature = 'CREATE SEQUENCE numbers; CREATE VIEW names AS SELECT name FROM owners';
      await run('managed', feature, role);
      await run('managed', ROLES, 'admin');

      const owners = `SELECT DISTINCT relowner::regrole::text AS owner FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v', 'S')`;
      expect(await run('managed', owners)).toEqual([{ owner: 'pets_owner' }]);
      await run('managed', `SELECT nextval('numbers')`, 'pets_service');
      for (const each of [role, 'pets_owner', 'pets_service'])
        expect(await run('managed', 'SELECT name FROM names', each)).toEqual([{ name: 'shelter' }]);
    },
  );
});
