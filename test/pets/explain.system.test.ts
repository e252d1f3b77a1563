import { Client } from 'pg';
import { Pet, type PetStatus } from '../../src/pets/pet.entity.js';
import { LASTING_PLANS } from '../../src/platform/database/pipelining/pipelined-statements.js';
import { StoreDataSource } from '../../src/platform/database/pipelining/store-data-source.js';
import { PetsRepository } from '../../src/pets/pets.repository.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';

const ANIMALS = 30_000;
/** The index pages that a scan reads in addition to the rows of its page. */
const INDEX_BLOCKS = 8;

interface PlanNode {
  'Node Type': string;
  'Index Name'?: string;
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
let plan: PlanNode | undefined;

/** The names of prepared statements by their text; undefined: each statement is prepared again. */
let prepared: Map<string, string> | undefined;

/** Makes a store that is analyzed only when a test says so. */
async function open(): Promise<void> {
  database = await createDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query('ALTER TABLE pets SET (autovacuum_enabled = off)');
  store = new StoreDataSource({ type: 'postgres', url: database.url, entities: [Pet] });
  await store.initialize();
  jest.spyOn(store.statements, 'read').mockImplementation(explainRead);
}

async function close(): Promise<void> {
  prepared = undefined;
  await store.destroy();
  await client.end();
  await database.close();
}

/** Adds animals. @param status SQL for the status of the animal of a number */
async function fill(status: string, animals = ANIMALS): Promise<void> {
  await client.query(
    `INSERT INTO pets (name, category_id, status)
     SELECT 'Pet ' || number, number % 50, ${status} FROM generate_series(1, ${animals}) AS number`,
  );
}

/** Runs a statement as a prepared one, as the service does, and keeps its plan as it went. */
async function explainRead(sql: string, values: readonly unknown[]): Promise<never[]> {
  const parameters = values.map((value) => client.escapeLiteral(String(value))).join(', ');
  const name = prepared?.get(sql) ?? `explained_${prepared?.size ?? 0}`;
  if (!prepared?.has(sql)) await client.query(`PREPARE ${name} AS ${sql}`);
  await client.query('BEGIN');
  await client.query(LASTING_PLANS);
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE ${name} (${parameters})`,
  );
  await client.query('COMMIT');
  if (prepared) prepared.set(sql, name);
  else await client.query(`DEALLOCATE ${name}`);
  plan = rows[0]!['QUERY PLAN'][0].Plan;
  return [];
}

/** Returns the plan of a query of the repository. */
async function explain(run: (pets: PetsRepository) => Promise<unknown>): Promise<PlanNode> {
  await run(new PetsRepository(store.getRepository(Pet)));
  return plan!;
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** Returns what is wrong with the plan of a page, nothing when it keeps the promise. */
function shortcomings(plan: PlanNode, rowLimit: number): string[] {
  const scans = nodesOf(plan).filter((node) => !node.Plans);
  const rowsRead = scans.reduce(
    (rows, scan) =>
      rows +
      scan['Actual Loops'] *
        (scan['Actual Rows'] +
          (scan['Rows Removed by Filter'] ?? 0) +
          (scan['Rows Removed by Index Recheck'] ?? 0)),
    0,
  );
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
        const plan = await explain((pets) => pets.list(afterId, limit + 1, status));
        const reasons = shortcomings(plan, limit + 1);
        if (reasons.length > 0)
          broken.push(`${status} after ${afterId}, ${limit}: ${reasons.join(', ')}`);
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

const EVENLY_SPREAD = `(ARRAY['available', 'pending', 'sold'])[1 + number % 3]`;

describe.each([
  [
    'with 98 % available',
    `CASE number % 100 WHEN 0 THEN 'pending' WHEN 50 THEN 'sold' ELSE 'available' END`,
  ],
  [
    'with only the newest few available',
    `CASE WHEN number > ${ANIMALS - 300} THEN 'available' WHEN number < 40 THEN 'pending' ELSE 'sold' END`,
  ],
])('a page of 30,000 animals %s reads no more than one row beyond it', (_how, status) => {
  beforeAll(async () => {
    await open();
    await fill(status);
  });

  afterAll(close);

  it.each([
    ['before', ''],
    ['after', 'ANALYZE pets'],
  ])('%s statistics are gathered', async (_when, sql) => {
    await client.query(sql);
    expect(await brokenPromises()).toEqual([]);
    const plan = await explain((pets) => pets.findById(BigInt(ANIMALS / 2)));
    expect(plan).toMatchObject({ 'Node Type': 'Index Scan', 'Index Name': 'pets_pkey' });
    expect(shortcomings(plan, 1)).toEqual([]);
  });
});

describe.each([0, 50])('a plan that the service made for %i animals', (animals) => {
  const list = (pets: PetsRepository): Promise<unknown> => pets.list(0n, 21);
  const listSold = (pets: PetsRepository): Promise<unknown> => pets.list(0n, 21, 'sold');
  const find = (pets: PetsRepository): Promise<unknown> => pets.findById(BigInt(ANIMALS / 2));

  beforeAll(async () => {
    await open();
    await fill(EVENLY_SPREAD, animals);
    await client.query('VACUUM ANALYZE pets');
    prepared = new Map();
    for (const run of [list, listSold, find]) await explain(run);
    await fill(EVENLY_SPREAD);
  });

  afterAll(close);

  it('holds for 30,000, and is the only one', async () => {
    expect(await brokenPromises()).toEqual([]);
    expect(await explain(find)).toMatchObject({ 'Node Type': 'Index Scan', 'Actual Rows': 1 });
    const { rows } = await client.query<{ custom: number }>(
      `SELECT custom_plans::int AS custom FROM pg_prepared_statements WHERE name LIKE 'explained%'`,
    );
    expect(rows).toEqual([{ custom: 0 }, { custom: 0 }, { custom: 0 }]);
  });
});
