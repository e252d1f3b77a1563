import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Client } from 'pg';
import { findPostgresPrograms } from '../../harness/database/postgres-programs.js';
import { PostgresServer } from '../../harness/database/postgres-server.js';
import { readProjectFile } from '../../harness/stack/compose-file.js';

const DEPLOY = join(__dirname, '../../../deploy');
/** 24 random bytes, which need no encoding in an address. */
const PASSWORD = /^[0-9a-f]{48}$/;
const NOT_AUTHENTICATED = /^28/;

const programs = findPostgresPrograms();

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pets-passwords-'));
  chmodSync(folder, 0o755);
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Whether other users can read a file. */
const isReadableByAll = (file: string): boolean => (statSync(file).mode & 0o444) === 0o444;

test('deploy/redis/with-password.sh generates one password, stores its address and passes it to the command', () => {
  const run = (): string =>
    execFileSync('sh', [join(DEPLOY, 'redis/with-password.sh'), 'echo', 'redis-server'], {
      cwd: folder,
      encoding: 'utf8',
    });
  const first = run();
  const url = new URL(readFileSync(join(folder, 'url'), 'utf8').trim());
  expect(url).toMatchObject({ protocol: 'redis:', host: 'redis:6379', username: 'default' });
  expect(url.password).toMatch(PASSWORD);
  expect(first).toBe(`redis-server --requirepass ${url.password}\n`);
  expect(isReadableByAll(join(folder, 'url'))).toBe(true);
  expect(run()).toBe(first);
});

(programs === undefined ? test.skip : test)(
  'deploy/postgres/passwords.sh gives each role its own password, and no other login works',
  async () => {
    // Only the superuser of this test, which runs the scripts, needs no password.
    const access = join(folder, 'pg_hba.conf');
    const lines = ['postgres 127.0.0.1/32 trust', 'all 127.0.0.1/32 scram-sha-256'];
    writeFileSync(access, lines.map((line) => `host all ${line}\n`).join(''));
    chmodSync(access, 0o644);
    const server = await PostgresServer.create(programs!, { fsync: 'off', hba_file: access });
    try {
      await server.query(readProjectFile('deploy/postgres/roles.sql'));
      await server.query(`ALTER ROLE postgres PASSWORD 'removed-at-the-first-start'`);
      const { port } = new URL(server.url);
      const addresses = join(folder, 'addresses');
      execFileSync('sh', [join(DEPLOY, 'postgres/passwords.sh')], {
        env: {
          PATH: [programs, process.env['PATH']].join(delimiter),
          PGHOST: '127.0.0.1',
          PGPORT: port,
          POSTGRES_USER: 'postgres',
          POSTGRES_DB: 'postgres',
          ADDRESSES_FOLDER: addresses,
        },
      });
      const passwords: string[] = [];
      for (const role of ['pets_owner', 'pets_service']) {
        const file = join(addresses, role, 'url');
        expect(isReadableByAll(file)).toBe(true);
        const url = new URL(readFileSync(file, 'utf8').trim());
        expect(url).toMatchObject({ host: 'postgres:5432', username: role, pathname: '/postgres' });
        expect(url.password).toMatch(PASSWORD);
        passwords.push(url.password);
        url.host = `127.0.0.1:${port}`;
        expect(await logIn(url)).toBe(role);
        url.password = 'removed-at-the-first-start';
        await expect(logIn(url)).rejects.toMatchObject({
          code: expect.stringMatching(NOT_AUTHENTICATED),
        });
      }
      expect(new Set(passwords).size).toBe(2);
      expect(
        await server.query(`SELECT rolpassword FROM pg_authid WHERE rolname = 'postgres'`),
      ).toEqual([{ rolpassword: null }]);
    } finally {
      await server.remove();
    }
  },
);

/** Returns the name of the role that the address logs in as. */
async function logIn(url: URL): Promise<string> {
  const client = new Client({ connectionString: url.href });
  await client.connect();
  try {
    const { rows } = await client.query<{ role: string }>('SELECT current_user AS role');
    return rows[0]!.role;
  } finally {
    await client.end();
  }
}
