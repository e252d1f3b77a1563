import { Client } from 'pg';
import { Pet, type PetStatus } from '../../src/pets/pet.entity.js';
import { PetsRepository } from '../../src/pets/pets.repository.js';
import { LASTING_PLANS } from '../../src/platform/database/pipelining/pipelined-statements.js';
import { StoreDataSource } from '../../src/platform/database/pipelining/store-data-source.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';

// A page costs the same at any depth: it reads no more than one row beyond it.
const ANIMALS = 30_000;
/** The index pages that a scan reads in addition to the rows of its page. */
const INDEX_BLOCKS = 8;

interface PlanNode {
  'Node Type': string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: PlanNode[];
}

let database: TestDatabase;
let client: Client;
let store: StoreDataSource;
let pets: PetsRepository;
let plan: PlanNode;
/** The names of the prepared statements by their text. */
let prepared: Map<string, string>;

beforeEach(async () => {
  database = await createDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  // Rows that an earlier test file has deleted may still be on the disk. A scan would read their blocks.
  await client.query('TRUNCATE pets');
  await client.query('ALTER TABLE pets SET (autovacuum_enabled = off)');
  store = new StoreDataSource({ type: 'postgres', url: database.url, entities: [Pet] });
  await store.initialize();
  jest.spyOn(store.statements, 'read').mockImplementation(explainRead);
  pets = new PetsRepository(store.getRepository(Pet));
  prepared = new Map();
});
afterEach(async () => {
  await store.destroy();
  await client.end();
  await database.close();
});

/** Adds animals. @param status SQL for the status of the animal of a number */
const fill = (status: string, animals = ANIMALS) =>
  client.query(
    `INSERT INTO pets (name, category_id, status)
     SELECT 'Pet ' || number, number % 50, ${status} FROM generate_series(1, ${animals}) AS number`,
  );

/** Runs a statement as a prepared one, as the service does, and keeps its plan as it went. */
async function explainRead(sql: string, values: readonly unknown[]): Promise<never[]> {
  const parameters = values.map((value) => client.escapeLiteral(String(value))).join(', ');
  const name = prepared.get(sql) ?? `explained_${prepared.size}`;
  if (!prepared.has(sql)) await client.query(`PREPARE ${name} AS ${sql}`);
  prepared.set(sql, name);
  await client.query('BEGIN');
  await client.query(LASTING_PLANS);
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE ${name} (${parameters})`,
  );
  await client.query('COMMIT');
  plan = rows[0]!['QUERY PLAN'][0].Plan;
  return [];
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** Returns what is wrong with the latest plan, nothing when it keeps the promise. */
function shortcomings(rowLimit: number): string[] {
  const rowsRead = nodesOf(plan)
    .filter((node) => !node.Plans)
    .map((scan) => {
      const removed =
        (scan['Rows Removed by Filter'] ?? 0) + (scan['Rows Removed by Index Recheck'] ?? 0);
      return scan['Actual Loops'] * (scan['Actual Rows'] + removed);
    })
    .reduce((sum, rows) => sum + rows, 0);
  const blocksRead = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  return [
    ...nodesOf(plan)
      .map((node) => node['Node Type'])
      .filter((type) => type !== 'Limit' && type !== 'Index Scan'),
    ...(rowsRead > rowLimit ? [`${rowsRead} rows read`] : []),
    // Entries of an index that a scan passes over are in no count of rows: only in that of blocks.
    ...(blocksRead > rowLimit + INDEX_BLOCKS ? [`${blocksRead} blocks read`] : []),
  ];
}

/** Explains every form of the list. Returns those whose plan breaks the promise, and why. */
async function brokenPromises(): Promise<string[]> {
  const broken: string[] = [];
  for (const status of [undefined, 'available', 'pending', 'sold'] as const) {
    for (const afterId of await positions(status)) {
      for (const limit of [1, 20, 100]) {
        await pets.list(afterId, limit + 1, status);
        for (const reason of shortcomings(limit + 1))
          broken.push(`${status} after ${afterId}, ${limit}: ${reason}`);
      }
    }
  }
  return broken;
}

/** Returns where the first, a middle, the last and an empty page begin. */
async function positions(status: PetStatus | undefined): Promise<bigint[]> {
  const { rows } = await client.query<{ middle: string; end: string }>(
    `SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY id) AS middle, max(id) AS end
       FROM pets WHERE $1::text IS NULL OR status = $1`,
    [status ?? null],
  );
  const { middle, end } = rows[0]!;
  return [0n, BigInt(middle), BigInt(end) - 1n, BigInt(end)];
}

test.each([
  [
    '98 % are available',
    `CASE number % 100 WHEN 0 THEN 'pending' WHEN 50 THEN 'sold' ELSE 'available' END`,
  ],
  [
    'only the newest few are available',
    `CASE WHEN number > ${ANIMALS - 300} THEN 'available' WHEN number < 40 THEN 'pending' ELSE 'sold' END`,
  ],
])('of 30,000 animals, %s, with and without statistics', async (_, status) => {
  await fill(status);
  expect(await brokenPromises()).toEqual([]);
  await client.query('DEALLOCATE ALL; ANALYZE pets');
  prepared.clear();
  expect(await brokenPromises()).toEqual([]);
  await pets.findById(BigInt(ANIMALS / 2));
  expect(shortcomings(1)).toEqual([]);
});

test.each([0, 50])('of 30,000 animals, with the plan that was made for %i', async (animals) => {
  const status = `(ARRAY['available', 'pending', 'sold'])[1 + number % 3]`;
  await fill(status, animals);
  await client.query('VACUUM ANALYZE pets');
  await pets.list(0n, 21);
  await pets.list(0n, 21, 'sold');
  await fill(status);
  expect(await brokenPromises()).toEqual([]);
  const { rows } = await client.query<{ custom: number }>(
    `SELECT sum(custom_plans)::int AS custom FROM pg_prepared_statements WHERE name LIKE 'explained%'`,
  );
  expect(rows).toEqual([{ custom: 0 }]);
});
