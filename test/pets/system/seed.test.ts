import { useDatabase } from '../../harness/database/database.js';
import { Cli, TEAM_PROGRAM } from '../../harness/processes/command.js';
import { makeFolder } from '../../harness/processes/embedded-user.js';

const database = useDatabase();
const cli = Cli.on(database, { app: true });
test('db seed adds N animals with varied names, categories and statuses, and updates the planner statistics', async () => {
  // More than one batch, and not a multiple of its size.
  const seed = ['db', 'seed', '--animals', '60001', '--yes', '--json'];
  const { code, json, stderr } = await cli.run(...seed);
  expect({ code, json }).toEqual({ code: 0, json: { animals: 60_001 } });
  expect(stderr).toMatch(
    new RegExp(`^Database: (${database.name} on .+)\nThis adds 60001 animals to \\1\\.\n$`),
  );
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

test('db seed adds nothing without the number of animals, or without a terminal and --yes', async () => {
  expect(await cli.failure(2, 'db', 'seed')).toMatch(/--animals/);
  expect(await cli.failure(2, 'db', 'seed', '--animals', '100000001')).toMatch(/--animals/);
  const before = await database.query('SELECT count(*) FROM operator_actions');
  expect(await cli.failure(1, 'db', 'seed', '--animals', '1')).toMatch(/Confirm with --yes/);
  expect(await database.query('SELECT count(*) FROM operator_actions')).toEqual(before);
});

test('db seed creates the embedded database, without the demo data of the service, and animals remove asks', async () => {
  const cli = new Cli({ DATA_DIR: makeFolder() }, {}, TEAM_PROGRAM);
  expect(await cli.json('db', 'seed', '--animals', '1')).toEqual({ animals: 1 });
  expect(await cli.json('keys', 'list')).toEqual([]);
  expect(await cli.json('audit', 'list')).toMatchObject([
    { action: 'db seed', details: { requested: { animals: 1 } } },
    { action: 'db migrate' },
  ]);
  // This database may have real data too.
  expect(await cli.failure(1, 'animals', 'remove', '1')).toMatch(/Confirm with --yes/);
  const { json, stderr } = await cli.run('animals', 'remove', '1', '--yes', '--json');
  expect(json).toMatchObject([{ id: 1 }]);
  expect(stderr).toMatch(/This removes 1 ".+" from embedded in /);
}, 120_000);
