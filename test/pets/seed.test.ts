import { useDatabase } from '../harness/database/database.js';
import { Cli } from '../harness/processes/command.js';

const database = useDatabase();

test('db seed adds N animals with varied names, categories and statuses, and updates the planner statistics', async () => {
  // More than one batch, and not a multiple of its size.
  const seed = ['db', 'seed', '--animals', '60001', '--yes', '--json'];
  const { code, json, stderr } = await new Cli({ DATABASE_URL: database.url }).run(...seed);
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
