import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Cli, resultOf } from '../../harness/processes/command.js';
import * as embedded from '../../harness/processes/embedded-user.js';
import { until } from '../../harness/run/until.js';

const { EmbeddedUser, makeFolder, processesOf, query } = embedded;

/** Takes longer than a test, and less of the disk than its end can wait for. */
const SEED = ['items', 'seed', '--items', '20000000'];

/** Waits until a command adds items. */
const seeding = (opened: embedded.Opened): Promise<void> =>
  until(async () => {
    const sql = `select from pg_stat_activity
      where state = 'active' and query ilike '%insert into test_items%' and pid <> pg_backend_pid()`;
    return (await query(opened, sql)).length > 0;
  });

// In this order: each test continues with what the one before has left.
describe('a command on the embedded database while no service runs', () => {
  let dataDir: string;
  beforeAll(async () => {
    dataDir = makeFolder();
    await embedded.makeCluster(dataDir);
  });
  afterEach(embedded.endUsers);

  test('leaves the schema to db migrate when MIGRATE_ON_START is false', async () => {
    const owner = new EmbeddedUser(dataDir, 'command');
    await owner.opened();
    const cli = new Cli(
      { DATA_DIR: dataDir, MIGRATE_ON_START: 'false' },
      { isOpenElsewhere: true },
    );
    expect(await cli.failure(1, 'items', 'seed', '--items', '1')).toContain('db migrate');
    await owner.close();
  });

  test('items seed needs no confirmation and migrates, and later commands see its data', async () => {
    const cli = new Cli({ DATA_DIR: dataDir });
    const seeded = await cli.run('items', 'seed', '--items', '3');
    expect(seeded).toMatchObject({ code: 0, stderr: `Database: embedded in ${dataDir}\n` });
    expect(processesOf(dataDir)).toEqual([]);
    const owner = new EmbeddedUser(dataDir, 'command');
    await owner.opened();
    const later = new Cli({ DATA_DIR: dataDir }, { isOpenElsewhere: true });
    const exported = await later.run('items', 'export');
    expect(exported).toMatchObject({ code: 0, stdout: expect.stringMatching(/^(?:.+\n){4}$/) });
    await later.json('keys', 'issue', '--owner', 'acme', '--plan', 'free');
    // What cannot be undone asks about this database, too.
    expect(await later.failure(1, 'owners', 'remove', 'acme')).toMatch(/Confirm with --yes/);
    await owner.close();
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('stops the server that it has started when %s ends it', async (signal, code) => {
    const command = new Cli({ DATA_DIR: dataDir }).start(...SEED);
    const result = resultOf(command);
    // It prints the database's name once it owns the server. Later processes then only use it.
    await once(command.stderr, 'data');
    await seeding(await new EmbeddedUser(dataDir, 'command').opened());
    // Further ones do not prevent this.
    while (existsSync(join(dataDir, 'postgres/postmaster.pid'))) {
      command.kill(signal);
      await delay(20);
    }
    expect(await result).toMatchObject({
      code,
      stdout: '',
      stderr: `Database: embedded in ${dataDir}\n`,
    });
    expect(processesOf(dataDir)).toEqual([]);
  });

  test.each(['another command stops the database', 'the connection breaks'])(
    'says in one line to run the command again when %s',
    async (cause) => {
      const owner = new EmbeddedUser(dataDir, 'command');
      const opened = await owner.opened();
      const lock = query(opened, 'begin; lock table owners; select pg_sleep(60)').catch(() => []);
      const env = { DATA_DIR: dataDir, DATABASE_LOCK_TIMEOUT_SECONDS: '60' };
      const result = new Cli(env).runInHost('keys', 'issue', '--owner', 'late', '--plan', 'free');
      const waiting = `select pid from pg_stat_activity where wait_event_type = 'Lock'`;
      await until(async () => (await query(opened, waiting)).length > 0);
      if (cause === 'the connection breaks') {
        const [{ pid } = {}] = await query(opened, waiting);
        process.kill(pid as number, 'SIGKILL');
      } else await owner.close();
      expect(await result).toMatchObject({
        code: 1,
        stderr: `Database: embedded in ${dataDir}\nThe embedded database was stopped or has failed. Nothing was changed. Run the command again.\n`,
      });
      await lock;
      if (!owner.running) return;
      // PostgreSQL 18 hangs if it is stopped while it recovers.
      const recovered = () => query(opened, 'select').then(Boolean, () => false);
      await until(recovered);
    },
  );
});

test('commands without a database exit with 1 and one line that says what to do, and create nothing', async () => {
  const parent = makeFolder();
  for (const command of [
    'keys issue --owner a --plan free',
    'keys list',
    'keys rotate 1',
    'keys revoke 1',
    'keys unban 1',
    'keys inspect 1',
    'owners list',
    'owners set-plan a --plan pro',
    'owners usage a',
    'audit list',
    'db status',
  ]) {
    // A folder that does not exist, and one that is empty.
    for (const dataDir of [join(parent, 'data'), parent]) {
      const cli = new Cli({ DATA_DIR: dataDir });
      expect([command, await cli.runInHost(...command.split(' '))]).toEqual([
        command,
        {
          code: 1,
          stdout: '',
          stderr: `There is no database in ${dataDir}. Set DATABASE_URL, or run \`npm start\` first.\n`,
        },
      ]);
      expect(readdirSync(parent)).toEqual([]);
    }
  }
});
