import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { useDatabase } from '../../../harness/database/database.js';
import { holdTable } from '../../../harness/database/database-lock.js';
import { createItems } from '../../../harness/database/factories.js';
import { Relay } from '../../../harness/database/relay.js';
import { Cli, OPERATOR } from '../../../harness/processes/command.js';
import { until } from '../../../harness/run/until.js';

// Failures of the database in the middle of a command that changes rows.
const folder = mkdtempSync(join(tmpdir(), 'failures-'));
const imported = join(folder, 'import.csv');
const updated = join(folder, 'update.csv');
/** A disk of one page. To mount it, be root on Linux. */
const disk = join(folder, 'disk');
mkdirSync(disk);
const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', disk]).status === 0;
/** What a command writes in addition: the rejected rows, or the rows as they were. */
const written = join(folder, 'written.csv');
const FILE_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  import: ['--skip-invalid', '--rejects', written],
  update: ['--former', written],
};
const database = useDatabase();
let relay: Relay;
let cli: Cli;

beforeAll(async () => {
  relay = await Relay.open(database.url);
  cli = new Cli({ DATABASE_URL: relay.url });
  writeFileSync(imported, 'name,categoryId\na,1\nb,1\nc,1\nd,1\ne,1\n');
  writeFileSync(updated, 'id,name\n1,a\n2,b\n3,c\n4,d\n5,e\n');
});
beforeEach(async () => {
  await database.empty('test_items', 'operator_actions');
  await createItems(database, 5);
  rmSync(written, { force: true });
});
afterAll(() => {
  spawnSync('umount', [disk]);
  rmSync(folder, { recursive: true });
});

type Command = readonly [command: string, effect: string, file: string];
const COMMANDS: readonly Command[] = [
  ['import', 'added', imported],
  ['update', 'changed', updated],
];
const stored = () => database.query('SELECT * FROM test_items ORDER BY id');
const actions = () => database.query('SELECT actor, action FROM operator_actions');

/** Runs SQL when a command stores or changes its third row. */
async function onThird(sql: string, work: () => Promise<void>): Promise<void> {
  await database.query(`
    CREATE SEQUENCE touched;
    CREATE FUNCTION on_third() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF nextval('touched') = 3 THEN PERFORM ${sql}; END IF;
      RETURN NEW; END $$;
    CREATE TRIGGER on_third BEFORE INSERT OR UPDATE ON test_items
      FOR EACH ROW EXECUTE FUNCTION on_third()`);
  try {
    await work();
  } finally {
    await database.query('DROP FUNCTION on_third CASCADE; DROP SEQUENCE touched');
  }
}

/** Runs a command that has to fail and to leave everything as it is. Returns the line. */
async function failureOf(command: string, ...args: string[]): Promise<string> {
  const before = await stored();
  const line = await cli.failure(1, 'items', command, ...args);
  // The transaction of a session whose connection was cut ends when PostgreSQL notices. The application keeps idle sessions.
  const others = `SELECT FROM pg_stat_activity
    WHERE datname = $1 AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND state <> 'idle'`;
  await until(async () => (await database.query(others, [database.name])).length === 0);
  expect([await stored(), await actions()]).toEqual([before, []]);
  return line;
}

test.each(COMMANDS)(
  '%s › a locked table: nothing was %s after DATABASE_LOCK_TIMEOUT_SECONDS (%s)',
  async (command, effect, file) => {
    const lock = await holdTable(database, 'test_items', 'EXCLUSIVE');
    const impatient = new Cli({ DATABASE_URL: database.url, DATABASE_LOCK_TIMEOUT_SECONDS: '0.5' });
    expect(await impatient.failure(1, 'items', command, file)).toBe(
      `Another transaction has locked a row or a table that the command needs. Nothing was ${effect}. Run the command again.`,
    );
    await lock.release();
    expect(await actions()).toEqual([]);
  },
);

test.each(COMMANDS)(
  '%s › a session that the server ends: nothing was %s (%s)',
  async (command, effect, file) => {
    await onThird('pg_terminate_backend(pg_backend_pid())', async () => {
      expect(await failureOf(command, file)).toMatch(
        new RegExp(
          `^The connection to the database was lost\\. Nothing was ${effect}\\. Run the command again\\. \\(57P01: .+\\)$`,
        ),
      );
    });
  },
);

test.each(COMMANDS)(
  '%s › a connection that breaks: nothing was %s (%s)',
  async (command, effect, file) => {
    await onThird('pg_sleep(60)', async () => {
      const sleeping = `SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = $1`;
      const failure = failureOf(command, file);
      let pid: unknown;
      await until(async () => {
        const [session] = await database.query(sleeping, [database.name]);
        pid = session?.['pid'];
        return pid !== undefined;
      });
      await relay.cut();
      await database.query('SELECT pg_terminate_backend($1)', [pid]);
      expect(await failure).toMatch(
        new RegExp(
          `^The connection to the database was lost\\. Nothing was ${effect}\\. Run the command again\\. \\(.+\\)$`,
        ),
      );
      await relay.restore();
    });
  },
);

test.each(COMMANDS)(
  '%s › a connection that breaks during the commit: it is not known whether all was %s (%s)',
  async (command, effect, file) => {
    const before = await stored();
    relay.holdAfter('COMMIT\0');
    const options = FILE_OPTIONS[command] ?? [];
    const failure = cli.failure(1, 'items', command, file, ...options);
    await until(async () => (await actions()).length === 1);
    await relay.cut();
    expect(await failure).toMatch(
      new RegExp(
        `^The connection to the database was lost\\. It is not known whether all was ${effect}, or nothing: \`pets audit list\` shows the change if it was stored\\. \\(.+\\)$`,
      ),
    );
    await relay.restore();
    expect(await stored()).not.toEqual(before);
    const listed = await cli.json('audit', 'list');
    expect(listed).toMatchObject([{ actor: OPERATOR, action: `items ${command}` }]);
    // It may be needed.
    expect(readFileSync(written, 'utf8')).toMatch(/^(?:id,)?name,/);
  },
);

test('a commit that the server rejects: nothing was added or changed, and no file is left', async () => {
  await database.query(`
    CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION USING ERRCODE = '53100', MESSAGE = 'No space left on device'; END $$;
    CREATE CONSTRAINT TRIGGER reject AFTER INSERT ON operator_actions DEFERRABLE
      FOR EACH ROW EXECUTE FUNCTION reject();
    -- The commands make all constraints immediate.
    CREATE FUNCTION defer() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      SET CONSTRAINTS reject DEFERRED; RETURN NEW; END $$;
    CREATE TRIGGER defer BEFORE INSERT ON operator_actions FOR EACH ROW EXECUTE FUNCTION defer()`);
  try {
    for (const [command, effect, file] of COMMANDS) {
      expect(await failureOf(command, file, ...(FILE_OPTIONS[command] ?? []))).toBe(
        `The disk of the database is full. Nothing was ${effect}. (53100: No space left on device)`,
      );
      expect(readdirSync(folder)).toEqual(['disk', 'import.csv', 'update.csv']);
    }
  } finally {
    await database.query('DROP FUNCTION reject, defer CASCADE');
  }
});

(isMounted ? test : test.skip)(
  'a file of rejected rows that does not fit on the disk: nothing was added, and no file is left',
  async () => {
    const invalid = join(folder, 'invalid.csv');
    writeFileSync(invalid, `name,categoryId\na,1\n${`${'b'.repeat(1_000)},none\n`.repeat(10)}`);
    const rejects = join(disk, 'rejects.csv');
    const line = await failureOf('import', invalid, '--skip-invalid', '--rejects', rejects);
    expect(line).toBe(`Nothing was added. The file "${rejects}" cannot be written (ENOSPC).`);
    expect(readdirSync(disk)).toEqual([]);
    rmSync(invalid);
  },
);
