import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { unknownKey } from '../harness/database/api-keys.js';
import { Cli } from '../harness/processes/command.js';
import { ApiClient, send } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { featureFile } from '../harness/http/store.js';
import { findPostgresPrograms } from '../harness/database/postgres-programs.js';
import { connectionsTo, ROLES } from '../harness/database/roles.js';
import { TOYS_TABLE } from '../harness/database/toys.js';
import { PostgresServer } from '../harness/database/postgres-server.js';
import { startService, type TestService } from '../harness/service/service.js';

const PERMISSION_DENIED = '42501';

const programs = findPostgresPrograms();

(programs === undefined ? describe.skip : describe)('with the roles of deploy/postgres', () => {
  let server: PostgresServer;
  let service: TestService;
  let cli: Cli;

  const { addressOf, run } = connectionsTo(() => server.url);
  const startOn = (DATABASE_URL: string) =>
    startService({ database: server.database, env: { DATABASE_URL, MIGRATE_ON_START: 'false' } });
  /** Starts a replica, which cannot log in as the owner of the tables. */
  const startReplica = () => startOn(addressOf('new_store', 'pets_service'));

  beforeAll(async () => {
    server = await PostgresServer.create(programs!);
    await run('postgres', 'CREATE DATABASE new_store');
    await run('new_store', ROLES);
    cli = new Cli({ DATABASE_URL: addressOf('new_store', 'pets_owner') });
    await cli.run('db', 'migrate');
    service = await startReplica();
  });
  afterAll(async () => {
    await service.close();
    await server.remove();
  });

  test('every operation works as the role of the service, and operators’ commands as the owner', async () => {
    const args = ['--owner', 'shelter', '--plan', 'business'];
    const first = (await cli.json('keys', 'issue', ...args)) as { id: string; key: string };
    const api = new ApiClient(service, first.key);
    const item = { name: 'Frank', categoryId: 1 };
    const { status, json } = await api.post('/v1/items', item);
    expect(status).toBe(201);
    for (const replayed of [undefined, 'true']) {
      const response = await api.post('/v1/items', item, { 'Idempotency-Key': 'adoption-1' });
      expect([response.status, response.headers['idempotent-replayed']]).toEqual([201, replayed]);
    }
    expect((await api.get('/v1/items?limit=1&status=available')).json).toEqual([json]);
    expect((await api.get(`/v1/items/${json.id}`)).json).toEqual(json);
    expectError(
      await new ApiClient(service, unknownKey()).get('/v1/items'),
      401,
      'invalid_api_key',
    );
    expect((await send(service, '/health/ready')).status).toBe(200);
    // An import needs a temporary table.
    await run('new_store', TOYS_TABLE, 'pets_owner');
    const file = join(mkdtempSync(join(tmpdir(), 'roles-')), 'toys.csv');
    writeFileSync(file, 'name\nBall\n');
    const team = new Cli(cli.env, { features: [featureFile('toys')] });
    expect(await team.json('toys', 'import', file)).toMatchObject({ added: 1 });
    rmSync(dirname(file), { recursive: true });

    // The time of last use is written at the latest when the service stops.
    await service.close();
    const [key] = await run(
      'new_store',
      `SELECT last_used_at IS NOT NULL AS used FROM api_keys WHERE id = ${first.id}`,
    );
    expect(key).toEqual({ used: true });
    expect(service.logs().filter(({ level }) => Number(level) >= 40)).toEqual([]);
    service = await startReplica();
  });

  test('no request fails while a store with one role gets these roles', async () => {
    await run('postgres', 'CREATE ROLE one LOGIN');
    await run('postgres', 'CREATE DATABASE old_store OWNER one');
    const DATABASE_URL = addressOf('old_store', 'one');
    await new Cli({ DATABASE_URL }).run('db', 'migrate');
    const old = await startOn(DATABASE_URL);
    const args = ['--owner', 'shelter', '--plan', 'business'];
    const { key } = (await new Cli({ DATABASE_URL }).json('keys', 'issue', ...args)) as {
      key: string;
    };
    const api = new ApiClient(old, key);
    // The lookup of an API key reads both tables. The script locks the other one first.
    const reader = new Client({ connectionString: DATABASE_URL });
    await reader.connect();
    await reader.query('BEGIN; SELECT FROM api_keys');
    let isDone = false;
    const change = run('old_store', ROLES).finally(() => (isDone = true));
    const waiting = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'api_keys'::regclass`;
    while ((await run('old_store', waiting)).length === 0);
    await reader.query('SELECT FROM owners');
    await reader.end();
    const statuses = new Set<number>();
    for (let after = 0; after < 20; after += Number(isDone)) {
      statuses.add((await api.post('/v1/items', { name: 'Frank', categoryId: 1 })).status);
    }
    await change;
    expect([...statuses]).toEqual([201]);
    await old.close();
  });

  test.each([
    'DELETE FROM operator_actions',
    'INSERT INTO operator_actions (actor, action, details) VALUES ($$x$$, $$x$$, $${}$$)',
    'DROP TABLE operator_actions',
    'CREATE TABLE mine (id bigint)',
    'INSERT INTO owners (name, plan) VALUES ($$mine$$, $$business$$)',
    'UPDATE api_keys SET revoked_at = NULL',
    'UPDATE api_keys SET access = $$read-write$$',
    'INSERT INTO key_secret VALUES ($$x$$)',
    'SET ROLE pets_owner',
    'COPY (SELECT 1) TO PROGRAM $$true$$',
  ])('as the role of the service, permission is denied for %s', async (sql) => {
    const denied = { code: PERMISSION_DENIED };
    await expect(run('new_store', sql, 'pets_service')).rejects.toMatchObject(denied);
  });

  test('a table of a later migration can be read and written by the service, and not dropped', async () => {
    await run('new_store', 'CREATE TABLE later (id bigserial, note text)', 'pets_owner');
    await run(
      'new_store',
      `INSERT INTO later (note) VALUES ('a'); UPDATE later SET note = 'b'; DELETE FROM later`,
      'pets_service',
    );
    await expect(run('new_store', 'DROP TABLE later', 'pets_service')).rejects.toMatchObject({
      code: PERMISSION_DENIED,
    });
  });
});
