import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { changeColumns } from '../harness/database/column-changes.js';
import { createKey, createOwner } from '../harness/database/factories.js';
import { findPostgresPrograms } from '../harness/database/postgres-programs.js';
import { PostgresServer, USER } from '../harness/database/postgres-server.js';
import { ApiClient } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { MixedLoad } from '../harness/http/mixed-load.js';
import { Cli } from '../harness/processes/command.js';
import { freePort } from '../harness/processes/free-port.js';
import { until } from '../harness/run/until.js';
import { spawnBuiltService, startService, type TestService } from '../harness/service/service.js';
import { readProjectFile } from '../harness/stack/compose-file.js';

const PROGRAM = '/usr/sbin/pgbouncer';
const POOL_SIZE = 3;
const PASSWORD = 'service-password';

const programs = findPostgresPrograms();
const hasPgBouncer = spawnSync(PROGRAM, ['--version']).status === 0;
if (!hasPgBouncer) console.warn('To test PgBouncer, install it (apt-get install pgbouncer).');

/** What the superuser runs: time limits of the role, then the line for PgBouncer's file of users. */
const [, section = ''] = readProjectFile('docs/database.md').split('## PgBouncer\n');
const statements = [...section.matchAll(/--command="([^"]*)"/g)].map(([, sql = '']) => sql);

(programs && hasPgBouncer ? describe : describe.skip)('two replicas behind PgBouncer', () => {
  let folder: string;
  let server: PostgresServer;
  let port: number;
  let pooler: ChildProcess;
  let replicas: TestService[];
  let cli: Cli;
  let clients: ApiClient[];

  const pooled = (): string => `postgres://pets_service:${PASSWORD}@127.0.0.1:${port}/postgres`;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'pets-pgbouncer-'));
    chmodSync(folder, 0o755);
    const access = join(folder, 'pg_hba.conf');
    const lines = ['postgres 127.0.0.1/32 trust', 'all 127.0.0.1/32 scram-sha-256'];
    writeFileSync(access, lines.map((line) => `host all ${line}\n`).join(''));
    server = await PostgresServer.create(programs!, { hba_file: access });
    await server.query(readProjectFile('deploy/postgres/roles.sql'));
    await server.query(`ALTER ROLE pets_service PASSWORD '${PASSWORD}'`);
    let row: Record<string, string> | undefined;
    for (const sql of statements) [row] = await server.query<Record<string, string>>(sql);
    const users = join(folder, 'userlist.txt');
    writeFileSync(users, `${Object.values(row ?? {}).join('')}\n`);
    if (USER.uid !== undefined) chownSync(users, USER.uid, USER.gid);

    port = await freePort();
    const example = readProjectFile('deploy/pgbouncer/pgbouncer.ini');
    const own = example
      .replace(/^pets = .*$/m, `postgres = host=127.0.0.1 port=${new URL(server.url).port}`)
      .replace(/^listen_port = .*$/m, `listen_port = ${port}\nunix_socket_dir =`)
      .replace(/^auth_file = .*$/m, `auth_file = ${users}`)
      .replace(/^default_pool_size = .*$/m, `default_pool_size = ${POOL_SIZE}`);
    writeFileSync(join(folder, 'pgbouncer.ini'), own);
    await startPooler();

    const env = { DATABASE_URL: pooled(), MIGRATE_ON_START: 'false' };
    replicas = await Promise.all(
      [1, 2].map(() => startService({ database: server.database, env })),
    );
    cli = new Cli({ DATABASE_URL: server.url });
    const issued = await cli.json('keys', 'issue', '--owner', 'shelter', '--plan', 'business');
    clients = replicas.map((replica) => new ApiClient(replica, String(issued.key)));
  });
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.close()));
    await stopPooler();
    await server.remove();
    rmSync(folder, { recursive: true });
  });

  async function startPooler(): Promise<void> {
    const args = [join(folder, 'pgbouncer.ini')];
    pooler = spawn(PROGRAM, args, { ...USER, stdio: ['ignore', 'ignore', 'pipe'] });
    let log = '';
    pooler.stderr?.on('data', (text: Buffer) => (log += text.toString()));
    await until(() => {
      if (pooler.exitCode !== null) throw new Error(log);
      return log.includes('process up');
    });
  }

  async function stopPooler(): Promise<void> {
    const exited = once(pooler, 'exit');
    pooler.kill('SIGKILL');
    await exited;
  }

  test('without a password, a command says where to set it', async () => {
    const withoutPassword = new URL(server.url);
    withoutPassword.username = 'pets_service';
    const command = new Cli({ DATABASE_URL: withoutPassword.href });
    expect(await command.failure(1, 'keys', 'list')).toBe(
      'The database requires a password. Set it in DATABASE_URL or DATABASE_PASSWORD_FILE.',
    );
  });

  test('create, get and list work, and all replicas together use default_pool_size connections', async () => {
    const requests = Array.from({ length: 40 }, async (_, index) => {
      const [client, other] = index % 2 ? clients : clients.toReversed();
      const name = `Frank ${index}`;
      const headers = { 'Idempotency-Key': `pooler-${index}` };
      const created = await client!.post('/v1/items', { name, categoryId: 1 }, headers);
      const replay = await other!.post('/v1/items', { name, categoryId: 1 }, headers);
      const got = await other!.get(`/v1/items/${created.json.id}`);
      return [created.status, replay.status, replay.text === created.text, got.json.name === name];
    });
    const outcomes = await Promise.all(requests);
    expect(outcomes).toEqual(outcomes.map(() => [201, 201, true, true]));
    for (const client of clients) {
      expect((await client.get('/v1/items?limit=100')).json).toHaveLength(40);
    }
    const connections = await server.query(
      `SELECT count(*)::int FROM pg_stat_activity WHERE usename = 'pets_service'`,
    );
    expect(connections).toEqual([{ count: POOL_SIZE }]);
  });

  test('a migration that changes columns causes no 5xx', async () => {
    const { id, key } = await createOwner(server.database);
    const keys = await Promise.all(
      Array.from({ length: 30 }, () => createKey(server.database, id)),
    );
    const unknown = keys.map((created) => created.key);
    const [load, other] = replicas.map((replica) => new MixedLoad(replica, key, unknown));
    await changeColumns((sql) => server.query(sql), load!);
    await other!.stop();
    for (const { broken, sent } of [load!, other!]) {
      expect(broken).toEqual([]);
      const failed = sent.filter(({ response }) => response.status >= 500);
      expect(failed.map(({ kind, response }) => [kind, response.text])).toEqual([]);
    }
  });

  test('PostgreSQL ends a slow statement, although replicas set no time limits through PgBouncer', async () => {
    const client = new Client({ connectionString: pooled() });
    await client.connect();
    const statement = client.query('SELECT pg_sleep(60)');
    await expect(statement).rejects.toMatchObject({ code: '57014' });
    await client.end();
  });

  test('the file of users can have the password, because a managed server does not show the secret', async () => {
    writeFileSync(join(folder, 'userlist.txt'), `"pets_service" "${PASSWORD}"\n`);
    await stopPooler();
    await startPooler();
    await until(async () => (await clients[0]!.get('/v1/items')).status === 200);
  });

  describe('with settings of the role', () => {
    /** Lets PgBouncer open new sessions. */
    async function setRole(name: string, value: string): Promise<void> {
      await server.query(`ALTER ROLE pets_service SET ${name} = '${value}'`);
      await stopPooler();
      await startPooler();
    }
    afterEach(() => server.query('ALTER ROLE pets_service RESET ALL'));

    test.each([
      ['DateStyle', 'German, DMY'],
      ['TimeZone', 'Asia/Kathmandu'],
      ['IntervalStyle', 'iso_8601'],
      ['bytea_output', 'escape'],
      ['default_transaction_isolation', 'serializable'],
    ])('%s=%s › a new connection fails, and a running replica sends 503', async (name, value) => {
      await setRole(name, value);
      const command = new Cli({ DATABASE_URL: pooled() });
      expect(await command.failure(1, 'keys', 'list')).toMatch(
        RegExp(`${name} must be [^\\n]+, but is ${value}$`),
      );
      expectError(await clients[0]!.get('/v1/items'), 503, 'service_unavailable');
    });

    test('no replica starts, with one line', async () => {
      await setRole('DateStyle', 'German, DMY');
      const replica = spawnBuiltService({ DATABASE_URL: pooled(), MIGRATE_ON_START: 'false' });
      expect(await once(replica.process, 'close')).toEqual([1, null]);
      expect(replica.output()).toMatch(
        /^DATABASE_URL: .*DateStyle must be [^\n]+, but is German, DMY\n$/,
      );
    });

    test('with which results are the same › the replicas respond again', async () => {
      await server.query(`ALTER ROLE pets_service SET timezone = 'Etc/UTC'`);
      await setRole('datestyle', 'ISO, DMY');
      await until(async () => (await clients[0]!.get('/v1/items')).status === 200);
    });
  });
});
