import { createDatabase, type TestDatabase } from '../harness/database.js';
import { Cli } from './command.js';

const OLDEST = 'CreateStore1795132800000';

describe('the commands for the schema', () => {
  let database: TestDatabase;
  let cli: Cli;

  beforeEach(async () => {
    database = await createDatabase({ template: 'template0' });
    cli = new Cli({ DATABASE_URL: database.url });
  });

  afterEach(() => database.close());

  test('db status, migrate and revert run the migrations and tell of them, to programs and to a person', async () => {
    const before = await cli.json('db', 'status');
    expect(before).toEqual({ executed: [], pending: expect.arrayContaining([OLDEST]) });
    const all: string[] = before.pending;
    expect(await cli.json('db', 'migrate')).toEqual({ executed: all });
    expect(await cli.json('db', 'migrate')).toEqual({ executed: [] });
    expect((await cli.run('db', 'migrate')).stdout).toBe('The schema was up to date.\n');
    expect(await cli.json('db', 'status')).toEqual({ executed: all.toReversed(), pending: [] });
    expect(await cli.json('db', 'revert')).toEqual({ reverted: all.at(-1) });
    expect(await cli.json('db', 'status')).toMatchObject({ pending: [all.at(-1)] });
    expect((await cli.run('db', 'status')).stdout).toMatch(/^MIGRATION +STATUS\n.+ +pending\n/);
    expect((await cli.run('db', 'migrate')).stdout).toContain(`Executed ${all.at(-1)}.\n`);
    expect((await cli.run('db', 'revert')).stdout).toMatch(/^Took back \w+\.\n$/);
  });

  test('db revert ends with 1 and one line when there is nothing to take back', async () => {
    expect(await cli.failure(1, 'db', 'revert')).toBe('there is no migration to take back');
  });

  test('no other command touches a schema that is behind', async () => {
    expect(await cli.failure(1, 'keys', 'list')).toMatch(/not up to date: .*db migrate/);
    const tables = `SELECT FROM pg_tables WHERE schemaname = 'public'`;
    expect(await database.query(tables)).toEqual([]);
  });
});

describe('db seed', () => {
  let database: TestDatabase;
  let cli: Cli;

  beforeAll(async () => {
    database = await createDatabase();
    cli = new Cli({ DATABASE_URL: database.url });
  });

  afterAll(() => database.close());

  test('adds so many animals, of varied names, categories and statuses, for the planner to know', async () => {
    // More than a batch, and not a whole number of them.
    expect(await cli.json('db', 'seed', '--animals', '60001')).toEqual({ animals: 60_001 });
    const [pets] = await database.query<Record<string, number>>(
      `SELECT count(*)::int, count(DISTINCT name)::int AS names, count(DISTINCT category_id)::int AS categories,
              count(*) FILTER (WHERE status = 'available')::int AS available,
              count(*) FILTER (WHERE status = 'pending')::int AS pending,
              count(*) FILTER (WHERE status = 'sold')::int AS sold FROM pets`,
    );
    expect(pets).toMatchObject({ count: 60_001, categories: 12 });
    expect(pets!['names']).toBeGreaterThan(200);
    expect(pets!['available']! / 60_001).toBeCloseTo(0.6, 1);
    expect(pets!['pending']! / 60_001).toBeCloseTo(0.15, 1);
    expect(pets!['sold']! / 60_001).toBeCloseTo(0.25, 1);
    const [table] = await database.query<{ rows: number }>(
      `SELECT reltuples::int AS rows FROM pg_class WHERE relname = 'pets'`,
    );
    expect(table!.rows).toBe(60_001);
  });

  test('adds the same animals again when it is run again', async () => {
    await database.query('TRUNCATE pets');
    expect((await cli.run('db', 'seed', '--animals', '50')).stdout).toBe('Added 50 animals.\n');
    expect((await cli.run('db', 'seed', '--animals', '50')).code).toBe(0);
    const [pets] = await database.query<{ same: boolean }>(
      `SELECT (SELECT array_agg(name || category_id || status ORDER BY id) FROM (SELECT * FROM pets ORDER BY id LIMIT 50) AS a)
            = (SELECT array_agg(name || category_id || status ORDER BY id) FROM (SELECT * FROM pets ORDER BY id OFFSET 50) AS b) AS same`,
    );
    expect(pets).toEqual({ same: true });
  });
});
