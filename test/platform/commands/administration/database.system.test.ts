import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { Client } from 'pg';
import {
  createDatabase,
  type TestDatabase,
  useDatabase,
} from '../../../harness/database/database.js';
import { Cli, OPERATOR, resultOf } from '../../../harness/processes/command.js';
import { NODE } from '../../../harness/processes/node.js';
import { inheritedEnvironment } from '../../../harness/service/service.js';
import { runInTerminal } from '../../../harness/processes/terminal.js';
import { HANG_LIMIT_MS } from '../../../harness/run/until.js';
import { PACKAGES } from '../../../harness/run/packages.js';

const OLDEST = 'CreateStore1795132800000';

describe('the schema commands', () => {
  let database: TestDatabase;
  let cli: Cli;

  beforeEach(async () => {
    database = await createDatabase({ template: 'template0' });
    cli = new Cli({ DATABASE_URL: database.url });
  });

  afterEach(() => database.close());

  test('db migrate runs the pending migrations, and db status lists them, as text and as JSON', async () => {
    const before = await cli.json('db', 'status');
    expect(before).toEqual({ executed: [], pending: expect.arrayContaining([OLDEST]) });
    expect((await cli.run('db', 'status')).stdout).toMatch(
      /^executed +-\npending +CreateStore\d+, \w+/,
    );
    const all: string[] = before.pending;
    expect(await cli.json('db', 'migrate')).toEqual({ executed: all });
    expect(await cli.json('db', 'migrate')).toEqual({ executed: [] });
    expect((await cli.run('db', 'migrate')).stdout).toBe('executed  -\n');
    expect(await cli.json('db', 'status')).toEqual({ executed: all.toReversed(), pending: [] });
    const actions = 'SELECT actor, action, details FROM operator_actions';
    expect(await database.query(actions)).toEqual([
      { actor: OPERATOR, action: 'db migrate', details: { migrations: all } },
    ]);
  });

  test('variables that pg reads itself may end with a line end', async () => {
    const { host, port, user, password, database: name } = new Client(database.url);
    const variables = {
      PGHOST: host,
      PGPORT: port,
      PGUSER: user,
      PGPASSWORD: password,
      PGDATABASE: name,
      DATABASE_URL: 'postgres:///',
    };
    const entries = Object.entries(variables).map(([name, value], index) => [
      name,
      `${value}${index % 2 ? '\n' : '\r\n'}`,
    ]);
    const result = await resultOf(new Cli(Object.fromEntries(entries)).start('db', 'status'));
    expect(result).toMatchObject({ code: 0 });
  });

  test('db migrate › keeps and records the migrations before one that fails', async () => {
    await database.query('CREATE TABLE outbox_events ()');
    expect(await cli.failure(1, 'db', 'migrate')).toMatch(/^42703: /);
    const { executed: migrations } = await cli.json('db', 'status');
    const details = { migrations: migrations.toReversed() };
    expect(await database.query('SELECT details FROM operator_actions')).toEqual([{ details }]);
  });

  test('no other command runs on a schema with pending migrations', async () => {
    expect(await cli.failure(1, 'keys', 'list')).toMatch(/not up to date\. .*db migrate/);
    const tables = `SELECT FROM pg_tables WHERE schemaname = 'public'`;
    expect(await database.query(tables)).toEqual([]);
  });
});

describe('a folder whose name is a pattern', () => {
  const root = resolve(__dirname, '../../../..');
  const folder = mkdtempSync(join(tmpdir(), 'pets-'));
  const copy = join(folder, 'store[1] (copy) {a,b} *+! ü');
  const database = useDatabase({ template: 'template0' });

  beforeAll(() => {
    cpSync(join(root, 'reports/team'), copy, { recursive: true });
    symlinkSync(PACKAGES, join(copy, 'node_modules'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const cli = () => new Cli({ DATABASE_URL: database.url }, {}, join(copy, 'src/cli/main.js'));
  const status = () => resultOf(cli().start('db', 'status', '--json'));

  test('has the migrations, and without one, the start stops', async () => {
    const result = await status();
    expect(result).toMatchObject({ code: 0 });
    expect(result.json).toEqual({ executed: [], pending: expect.arrayContaining([OLDEST]) });
    const files = readdirSync(join(copy, 'src'), { recursive: true }).map(String);
    for (const folder of files.filter((name) => basename(name) === 'migrations')) {
      rmSync(join(copy, 'src', folder), { recursive: true });
    }
    const line = 'The build has no migrations. Build it again.\n';
    expect(await status()).toMatchObject({ code: 1, stderr: expect.stringContaining(line) });
    const ports = { PORT: '0', METRICS_PORT: '0' };
    const env = { ...inheritedEnvironment(), DATABASE_URL: database.url, ...ports };
    const [node, ...options] = NODE;
    const service = spawnSync(node, [...options, join(copy, 'src/main.js')], {
      env,
      timeout: HANG_LIMIT_MS,
    });
    expect(service).toMatchObject({ status: 1, stderr: expect.anything() });
    expect(service.stderr.toString()).toBe(line);
  });
});

describe('items seed', () => {
  const database = useDatabase();
  let cli: Cli;

  beforeAll(() => {
    cli = new Cli({ DATABASE_URL: database.url });
  });

  test('exits with 1 without a terminal and without --yes, and adds nothing', async () => {
    await database.empty('test_items', 'operator_actions');
    expect(await cli.failure(1, 'items', 'seed', '--items', '5')).toBe(
      'Standard input is not a terminal. Confirm with --yes.',
    );
    expect(await database.query('SELECT FROM test_items')).toEqual([]);
    expect(await database.query('SELECT FROM operator_actions')).toEqual([]);
  });

  test.each([
    ['Ctrl-D', '\u0004', 1],
    // 128 and the number of SIGINT.
    ['Ctrl-C', '\u0003', 130],
  ])('adds nothing when the operator types %s', async (_what, keys, exitCode) => {
    await database.empty('test_items');
    const seed = ['items', 'seed', '--items', '5'];
    const { code, screen, stdout } = await runInTerminal(cli, seed, keys);
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' });
    if (code === 1) expect(screen).toContain('The name does not match. Nothing was changed.\n');
    expect(await database.query('SELECT FROM test_items')).toEqual([]);
  });

  test('is in the audit trail even if it fails', async () => {
    await database.empty('operator_actions');
    await database.query('ALTER TABLE test_items ADD CONSTRAINT no_more CHECK (false) NOT VALID');
    expect(await cli.run('items', 'seed', '--items', '5', '--yes')).toMatchObject({ code: 1 });
    await database.query('ALTER TABLE test_items DROP CONSTRAINT no_more');
    expect(await database.query('SELECT actor, action, details FROM operator_actions')).toEqual([
      { actor: OPERATOR, action: 'items seed', details: { requested: { items: 5 } } },
    ]);
  });
});
