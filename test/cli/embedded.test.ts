import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cli, resultOf } from '../harness/processes/command.js';
import {
  EmbeddedUser,
  endUsers,
  makeCluster,
  type Opened,
  processesOf,
  query,
} from '../harness/processes/embedded-user.js';
import { until } from '../harness/run/until.js';

/** Takes longer than a test. */
const SEED = ['db', 'seed', '--animals', '50000000'];

/** Waits until a command adds animals. */
const seeding = (opened: Opened): Promise<void> =>
  until(async () => {
    const sql = `select from pg_stat_activity
      where state = 'active' and query ilike '%insert into pets%' and pid <> pg_backend_pid()`;
    return (await query(opened, sql)).length > 0;
  }, 20_000);

describe('a command on the embedded database while no service runs', () => {
  let dataDir: string;

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'cli-'));
    // The server's operating system user, if any, needs access to the folder.
    chmodSync(dataDir, 0o755);
  });

  afterEach(async () => {
    await endUsers();
    rmSync(dataDir, { recursive: true, force: true });
  });

  test('the first one, db seed without a confirmation, creates the database, and later ones see its data', async () => {
    const cli = new Cli({ DATA_DIR: dataDir });
    const seeded = await cli.run('db', 'seed', '--animals', '3');
    expect(seeded).toMatchObject({ code: 0, stderr: `Database: embedded in ${dataDir}\n` });
    expect((await cli.json('db', 'migrate')).executed).toEqual([]);
    const { id, key } = await cli.json('keys', 'issue', '--owner', 'acme', '--plan', 'free');
    expect(await cli.json('keys', 'inspect', key)).toMatchObject({ id, owner: 'acme' });
  });

  test('prints one line when the process that started the server stops it', async () => {
    await makeCluster(dataDir);
    const service = new EmbeddedUser(dataDir, 'service');
    const command = resultOf(new Cli({ DATA_DIR: dataDir }).start(...SEED));
    await seeding(await service.opened());
    await service.close();
    expect(await command).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `Database: embedded in ${dataDir}\nThe embedded database was stopped. Run the command again.\n`,
    });
  });

  test('stops the server that it has started when a signal ends it', async () => {
    await makeCluster(dataDir);
    const command = new Cli({ DATA_DIR: dataDir }).start(...SEED);
    const result = resultOf(command);
    await until(() => existsSync(join(dataDir, 'postgres/postmaster.pid')));
    await seeding(await new EmbeddedUser(dataDir, 'command').opened());
    command.kill('SIGTERM');
    expect(await result).toMatchObject({
      code: 143,
      stdout: '',
      stderr: `Database: embedded in ${dataDir}\n`,
    });
    expect(processesOf(dataDir)).toEqual([]);
  });

  test('leaves the schema to db migrate when MIGRATE_ON_START is false', async () => {
    await makeCluster(dataDir);
    const cli = new Cli({ DATA_DIR: dataDir, MIGRATE_ON_START: 'false' });
    expect(await cli.failure(1, 'db', 'seed', '--animals', '1')).toContain('db migrate');
    await cli.json('db', 'migrate');
    expect(await cli.json('owners', 'list')).toEqual([]);
  });
});

test.each([
  ...['keys issue --owner a --plan free', 'keys list', 'keys rotate 1', 'keys revoke 1'],
  ...['keys unban 1', 'keys inspect 1', 'owners list', 'owners set-plan a --plan pro'],
  ...['owners usage a', 'audit list', 'db status'],
])(
  '"%s" without a database exits with 1 and one line that says what to do, and creates nothing',
  async (command) => {
    const parent = mkdtempSync(join(tmpdir(), 'cli-'));
    try {
      // A folder that does not exist, and one that is empty.
      for (const dataDir of [join(parent, 'data'), parent]) {
        const cli = new Cli({ DATA_DIR: dataDir });
        expect(await cli.runInHost(...command.split(' '))).toEqual({
          code: 1,
          stdout: '',
          stderr: `There is no database in ${dataDir}. Set DATABASE_URL, or run \`npm start\` first.\n`,
        });
        expect(readdirSync(parent)).toEqual([]);
      }
    } finally {
      rmSync(parent, { recursive: true, force: true });
    }
  },
);
