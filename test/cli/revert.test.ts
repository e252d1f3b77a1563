import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Client } from 'pg';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import {
  type BuiltProcess,
  spawnBuiltService,
  startService,
  type TestService,
} from '../harness/service/service.js';
import { Cli, OPERATOR, resultOf } from '../harness/processes/command.js';
import { runInTerminal } from '../harness/processes/terminal.js';

const OLDEST = 'CreateStore1795132800000';

let database: TestDatabase;
let cli: Cli;

beforeEach(async () => {
  database = await createDatabase();
  cli = new Cli({ DATABASE_URL: database.url });
});

afterEach(() => database.close());

/** Returns the executed migrations, newest first. */
async function executed(): Promise<string[]> {
  const rows = await database.query<{ name: string }>(
    'SELECT name FROM migrations ORDER BY id DESC',
  );
  return rows.map(({ name }) => name);
}

async function revertOne(): Promise<void> {
  expect(await cli.run('db', 'revert', '--yes', '--discard-data')).toMatchObject({ code: 0 });
}

/** Reverts all migrations except the oldest. */
async function revertToOldest(): Promise<void> {
  while ((await executed()).length > 1) await revertOne();
}

async function revertAll(): Promise<void> {
  while ((await executed()).length > 0) await revertOne();
}

async function addAnimals(count: number): Promise<void> {
  await database.query(
    `INSERT INTO pets (name, category_id, status) SELECT 'Frank', 1, 'sold' FROM generate_series(1, $1)`,
    [count],
  );
}

describe('db revert', () => {
  test('exits with 0 and prints the database and what it deletes', async () => {
    const [newest] = await executed();
    const { code, stdout, stderr } = await cli.run('db', 'revert', '--yes', '--json');
    expect({ code, json: JSON.parse(stdout) }).toEqual({ code: 0, json: { reverted: newest } });
    const [line, effect, ...more] = stderr.split('\n');
    expect(line).toMatch(new RegExp(`^Database: ${database.name} on .+:\\d+$`));
    expect(effect).toMatch(
      new RegExp(`^This reverts ${newest} in ${database.name} on .+ and deletes .+\\.$`),
    );
    expect(more).toEqual(['']);
    expect(await executed()).not.toContain(newest);
  });

  test('exits with 1 when there is nothing to revert', async () => {
    await revertAll();
    expect(await cli.failure(1, 'db', 'revert', '--yes')).toBe('There is no migration to revert.');
  });

  test('exits with 1 and lists each table with rows, unless --discard-data is set', async () => {
    await revertToOldest();
    await addAnimals(12);
    await database.query(`INSERT INTO owners (name, plan) VALUES ('acme', 'free')`);
    const line = await cli.failure(1, 'db', 'revert', '--yes');
    expect(line).toContain(`Reverting ${OLDEST} deletes `);
    for (const part of [
      'pets (12 rows)',
      'owners (1 row)',
      'api_keys (0 rows)',
      '--discard-data',
    ]) {
      expect(line).toContain(part);
    }
    expect(line).not.toContain('operator_actions');
    expect(await database.query('SELECT count(*)::int FROM pets')).toEqual([{ count: 12 }]);

    expect(await cli.run('db', 'revert', '--yes', '--discard-data')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('pets (12 rows)'),
    });
    expect(await database.query(`SELECT to_regclass('pets') AS pets`)).toEqual([{ pets: null }]);
  });

  test('exits with 1 when a dropped column holds values', async () => {
    await revertToOldest();
    await addAnimals(3);
    // The revert also changes a table that remains, as that of a later migration may.
    await database.query(`
      CREATE TABLE shelters (city text, rooms integer);
      INSERT INTO shelters VALUES ('Ulm', 7), ('Bern', NULL);
      CREATE FUNCTION drop_column() RETURNS event_trigger LANGUAGE plpgsql AS $$
        BEGIN ALTER TABLE shelters DROP COLUMN rooms; END $$;
      CREATE EVENT TRIGGER drop_column ON ddl_command_end WHEN TAG IN ('DROP TABLE')
        EXECUTE FUNCTION drop_column()`);
    expect(await cli.failure(1, 'db', 'revert', '--yes')).toContain('shelters.rooms (1 row)');
    expect(await database.query('SELECT * FROM shelters')).toHaveLength(2);
  });

  test('records every change of the schema, and the record survives', async () => {
    await cli.json('keys', 'issue', '--owner', 'acme', '--plan', 'free');
    await addAnimals(2);
    const migrations = (await executed()).toReversed();
    await revertAll();
    expect(await cli.json('db', 'migrate')).toEqual({ executed: migrations });
    expect(await cli.json('db', 'migrate')).toEqual({ executed: [] });
    const actions = await database.query<{ action: string; actor: string; details: unknown }>(
      'SELECT action, actor, details FROM operator_actions ORDER BY id',
    );
    expect(actions.map(({ action }) => action)).toEqual([
      'keys issue',
      ...migrations.map(() => 'db revert'),
      'db migrate',
    ]);
    expect(new Set(actions.map(({ actor }) => actor))).toEqual(new Set([OPERATOR]));
    expect(actions.at(-1)).toMatchObject({ details: { migrations } });
    expect(actions.at(-2)).toMatchObject({
      details: { migration: OLDEST, deletedRows: { pets: 2, owners: 1, api_keys: 1 } },
    });
    const owners = await cli.json('owners', 'list');
    expect(owners).toEqual([]);
  });
});

describe('the confirmation of db revert', () => {
  test('exits with 1 without a terminal and without --yes', async () => {
    const before = await executed();
    expect(await cli.failure(1, 'db', 'revert')).toBe(
      'Standard input is not a terminal. Confirm with --yes.',
    );
    expect(await executed()).toEqual(before);
  });

  test('exits with 0 when the operator types the name of the database', async () => {
    const [newest] = await executed();
    const { code, screen, stdout } = await runInTerminal(
      cli,
      ['db', 'revert', '--json'],
      () => `${database.name}\r`,
    );
    expect({ code, json: JSON.parse(stdout) }).toEqual({ code: 0, json: { reverted: newest } });
    expect(screen).toMatch(
      /^Database: .+\nThis reverts .+\nType the name of the database to continue: /,
    );
    expect(await executed()).not.toContain(newest);
  });

  test.each([
    ['another name', 'pets\r', 1],
    ['nothing', '\r', 1],
    ['Ctrl-D', '\u0004', 1],
    // 128 and the number of SIGINT.
    ['Ctrl-C', '\u0003', 130],
  ])('changes nothing when the operator types %s', async (_what, keys, exitCode) => {
    const before = await executed();
    const { code, screen, stdout } = await runInTerminal(cli, ['db', 'revert'], () => keys);
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' });
    if (code === 1) expect(screen).toContain('The name does not match. Nothing was changed.\n');
    expect(await executed()).toEqual(before);
  });

  test('exits with 1 when the rows change before the operator responds', async () => {
    await revertToOldest();
    await addAnimals(1);
    const { code, screen } = await runInTerminal(
      cli,
      ['db', 'revert', '--discard-data'],
      async () => {
        await addAnimals(1);
        return `${database.name}\r`;
      },
    );
    expect({ code, screen }).toMatchObject({
      code: 1,
      screen: expect.stringContaining('has changed'),
    });
    expect(await database.query('SELECT count(*)::int FROM pets')).toEqual([{ count: 2 }]);
  });
});

describe('db revert and a service', () => {
  const children: ChildProcess[] = [];
  // No process outlives a failed test.
  afterEach(() => children.splice(0).forEach((child) => child.kill('SIGKILL')));

  const revert = () => cli.failure(1, 'db', 'revert', '--yes', '--discard-data');

  async function withService(
    env: Record<string, string>,
    work: (service: TestService) => Promise<void>,
  ): Promise<void> {
    const service = await startService({ database, env });
    try {
      await work(service);
    } finally {
      await service.close();
    }
  }

  test('exits with 1 while a service is connected, and lists its connections', async () => {
    const before = await executed();
    await withService({}, async () => {
      expect(await revert()).toMatch(
        /^The service uses the database \(\d connections? (over a local socket|from \S+)\)\. Stop the service first\.$/,
      );
    });
    expect(await executed()).toEqual(before);
    await cli.run('db', 'revert', '--yes');
    expect(await executed()).toHaveLength(before.length - 1);
  });

  test('exits with 1 while a service is connected with another application name', async () => {
    const url = new URL(database.url);
    url.searchParams.set('application_name', 'pooler');
    await withService({ DATABASE_URL: url.href }, async () => {
      expect(
        await database.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name ~ '^pets'`,
        ),
      ).toEqual([]);
      expect(await revert()).toMatch(/^The service uses the database \(1 connection/);
    });
  });

  test('exits with 1 while a service is connected that holds no lock', async () => {
    // A previous release, or a replica that has lost its direct connection.
    const client = new Client({ connectionString: database.url, application_name: 'pets' });
    await client.connect();
    try {
      expect(await revert()).toMatch(/^The service uses the database \(1 connection/);
    } finally {
      await client.end();
    }
  });

  test('exits with 0 while another command is connected', async () => {
    const client = new Client({ connectionString: database.url, application_name: 'pets cli' });
    await client.connect();
    try {
      expect(await cli.run('db', 'revert', '--yes')).toMatchObject({ code: 0 });
    } finally {
      await client.end();
    }
  });

  /** Starts a revert. Runs the work after the tables are dropped and before the commit. */
  async function duringRevert(work: () => Promise<unknown>): Promise<void> {
    await database.query('BEGIN');
    await database.query('SELECT FROM migrations FOR UPDATE');
    const patient = new Cli({ ...cli.env, DATABASE_LOCK_TIMEOUT_SECONDS: '60' });
    const child = patient.start('db', 'revert', '--yes');
    children.push(child);
    const result = resultOf(child);
    await untilSession(blocked('pets migrations'));
    await work();
    await database.query('ROLLBACK');
    expect(await result).toMatchObject({ code: 0 });
  }

  /** Resolves when a session of the database is in the state. */
  async function untilSession(condition: string): Promise<void> {
    // A separate connection: within a transaction, pg_stat_activity does not change.
    const observer = new Client({ connectionString: database.url });
    await observer.connect();
    try {
      for (let found = 0; found === 0;) {
        const { rows } = await observer.query(
          `SELECT FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND ${condition}`,
        );
        found = rows.length;
      }
    } finally {
      await observer.end();
    }
  }

  const blocked = (name: string) => `application_name = '${name}' AND wait_event_type = 'Lock'`;

  test('a service that starts during a revert waits, then exits with 1 and one line if it may not migrate', async () => {
    let service!: BuiltProcess;
    let ended!: Promise<unknown[]>;
    await duringRevert(() => {
      service = spawnBuiltService({ DATABASE_URL: database.url, MIGRATE_ON_START: 'false' });
      children.push(service.process);
      ended = once(service.process, 'exit');
      return untilSession(blocked('pets key changes'));
    });
    expect(await ended).toEqual([1, null]);
    expect(service.output()).toContain('The schema of the database is not up to date.');
    expect(service.logs().map(({ msg }) => msg)).not.toContain('listening');
  });

  test('a service that starts during a revert waits, then migrates', async () => {
    let service!: BuiltProcess;
    const before = await executed();
    await duringRevert(async () => {
      service = spawnBuiltService({ DATABASE_URL: database.url });
      children.push(service.process);
      await untilSession(`query LIKE '%pg_try_advisory_lock(%'`);
    });
    await service.waitForLog(({ msg }) => msg === 'listening');
    expect(await executed()).toEqual(before);
    await service.stop();
  });
});
