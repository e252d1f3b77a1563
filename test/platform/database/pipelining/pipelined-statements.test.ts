import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { isUnavailable } from '../../../../src/platform/database/database-errors.js';
import { BoundedPool } from '../../../../src/platform/database/pools/bounded-pool.js';
import {
  PgClient,
  type PgClientConfig,
} from '../../../../src/platform/database/pipelining/pg-client.js';
import { PipelinedStatements } from '../../../../src/platform/database/pipelining/pipelined-statements.js';
import type { Parameter } from '../../../../src/platform/database/pipelining/statement-batch.js';
import { useDatabase } from '../../../harness/database/database.js';
import { holdAfter } from '../../../harness/database/database-lock.js';
import { HANG_LIMIT_MS } from '../../../harness/run/until.js';

const MAX_TOGETHER = 32;
const DIVISION_BY_ZERO = { status: 'rejected', reason: { code: '22012' } };

const database = useDatabase();
let pool: BoundedPool;
let statements: PipelinedStatements;

beforeEach(() => openPool());
afterEach(() => pool.end());

type Config = PgClientConfig & Omit<pg.PoolConfig, 'Client'> & { maxWaiting?: number };

function openPool(config: Config = {}): void {
  const connectionString = database.url;
  pool = new BoundedPool({
    connectionString,
    Client: PgClient,
    max: 4,
    maxWaiting: 1_000,
    ...config,
  });
  pool.on('error', () => undefined);
  statements = new PipelinedStatements(pool);
}

const read = (sql: string, ...values: readonly Parameter[]): Promise<unknown[][]> =>
  statements.read(sql, values, (columns) => columns);
/** Reads the number and the process of the connection. */
const who = (number: number) => read('SELECT $1::int, pg_backend_pid()', number);
const whoAre = async (count: number): Promise<unknown[][]> =>
  (await Promise.all(Array.from({ length: count }, (_, number) => who(number)))).flat();
const divide = () => read('SELECT 1 / $1::int', 0);
/** Takes longer than a test waits for anything. */
const sleep = () => read('SELECT pg_sleep($1)', HANG_LIMIT_MS / 1_000);
const succeedsWith = (number: number) => ({
  status: 'fulfilled',
  value: [[number, expect.any(Number)]],
});

async function expectUnavailable(...reads: Promise<unknown>[]): Promise<void> {
  for (const result of await Promise.allSettled(reads)) {
    expect(result.status === 'rejected' && isUnavailable(result.reason)).toBe(true);
  }
}

describe('reads of one event-loop tick', () => {
  it.each([MAX_TOGETHER, 2 * MAX_TOGETHER + 1])(
    'share a connection, at most 32 of them, and each gets its own rows: %i',
    async (count) => {
      const rows = await whoAre(count);
      expect(rows.map(([number]) => number)).toEqual([...Array(count).keys()]);
      const connections = Math.ceil(count / MAX_TOGETHER);
      expect(new Set(rows.map(([, pid]) => pid)).size).toBe(connections);
      expect(pool).toMatchObject({ totalCount: connections, idleCount: connections });
    },
  );

  it('fail separately, and leave the connection open', async () => {
    const [[, pid] = []] = await who(0);
    const results = await Promise.allSettled([who(1), divide(), who(2)]);
    expect(results).toMatchObject([succeedsWith(1), DIVISION_BY_ZERO, succeedsWith(2)]);
    // Otherwise, callers could force reconnects.
    const rows = await database.query<{ pid: number }>(
      'SELECT pid FROM pg_stat_activity WHERE datname = current_database()',
    );
    expect(rows.map((row) => row.pid)).toContain(pid);
  });

  it('are prepared again if the server skipped them, or could not prepare them', async () => {
    const results = await Promise.allSettled([divide(), who(1)]);
    expect(results).toMatchObject([DIVISION_BY_ZERO, succeedsWith(1)]);
    const sql = 'SELECT number FROM made_later WHERE number = $1';
    await expect(read(sql, 1)).rejects.toMatchObject({ code: '42P01' });
    await database.query('CREATE TABLE made_later AS SELECT 1 AS number');
    expect(await read(sql, 1)).toEqual([[1]]);
  });

  // The limits apply to all statements of these tests. A busy machine stays below them.
  it.each([{ responseTimeoutMs: 2_000 }, { statement_timeout: 1_000 }])(
    'fail together when a response is late, the first of a connection too, which is closed: %j',
    async (limit) => {
      openPool(limit);
      for (let time = 0; time < 2; time++) {
        await expectUnavailable(sleep(), who(1));
        expect(await whoAre(1)).toEqual([[0, expect.any(Number)]]);
      }
    },
  );

  it('leave their connection open when it is idle for longer than a response may take', async () => {
    openPool({ responseTimeoutMs: 2_000 });
    const first = await whoAre(1);
    await delay(2_100);
    expect(await whoAre(1)).toEqual(first);
  });

  it('fail if they are the newest and the queue for a connection is full', async () => {
    openPool({ max: 1, maxWaiting: 1 });
    const results = await Promise.allSettled(
      Array.from({ length: 3 * MAX_TOGETHER }, (_, number) => who(number)),
    );
    const isOpenElsewhere = results.map(({ status }) => status === 'fulfilled');
    const served = 2 * MAX_TOGETHER;
    expect(isOpenElsewhere).toEqual(isOpenElsewhere.map((_, number) => number < served));
  });

  it('are planned once, by an index, and leave the settings of their connection as they were', async () => {
    openPool({ max: 1 });
    const settings = `SELECT current_setting('plan_cache_mode'), current_setting('enable_seqscan') WHERE $1`;
    const defaults = `SELECT current_setting('plan_cache_mode') AS mode, current_setting('enable_seqscan') AS scan`;
    for (let time = 0; time < 2; time++) {
      const [result] = await Promise.allSettled([read(settings, 't'), divide()]);
      expect(result).toMatchObject({ value: [['force_generic_plan', 'off']] });
      expect((await pool.query(defaults)).rows).toEqual([{ mode: 'auto', scan: 'on' }]);
    }
  });
});

describe('inserts', () => {
  const insert = (table: string, number: number): Promise<unknown[][]> => {
    const sql = `INSERT INTO ${table} VALUES ($1::int) RETURNING number, pg_current_xact_id()::text`;
    return statements.insert(sql, [number], (columns) => columns);
  };
  const numbersIn = async (table: string): Promise<unknown[]> =>
    (await read(`SELECT number FROM ${table} WHERE $1 ORDER BY number`, 't')).flat();

  it('of one event-loop tick are one transaction', async () => {
    await database.query('CREATE TABLE together (number int)');
    const inserted = await Promise.all([1, 2, 3].map((number) => insert('together', number)));
    expect(inserted.flat().map(([number]) => number)).toEqual([1, 2, 3]);
    expect(new Set(inserted.flat().map(([, transaction]) => transaction)).size).toBe(1);
    expect(await numbersIn('together')).toEqual([1, 2, 3]);
  });

  it.each([0, 1, 2])('fail separately, and the others are inserted once: %i', async (failing) => {
    await database.query('CREATE TABLE positive (number int CHECK (number > 0))');
    const numbers = [1, 2, 3].map((number, index) => (index === failing ? -number : number));
    const results = await Promise.allSettled(numbers.map((number) => insert('positive', number)));
    expect(results).toMatchObject(
      numbers.map((number) =>
        number < 0
          ? { status: 'rejected', reason: { code: '23514' } }
          : { status: 'fulfilled', value: [[number, expect.anything()]] },
      ),
    );
    expect(await numbersIn('positive')).toEqual(numbers.filter((number) => number > 0));
    await database.query('DROP TABLE positive');
  });

  it('succeed when they are committed, not before', async () => {
    const constraint = 'CONSTRAINT once UNIQUE DEFERRABLE INITIALLY DEFERRED';
    await database.query(`CREATE TABLE single (number int ${constraint})`);
    const results = await Promise.allSettled([1, 2, 1].map((number) => insert('single', number)));
    // An error at the commit belongs to no single statement.
    const failed = { status: 'rejected', reason: { constraint: 'once' } };
    expect(results).toMatchObject([failed, failed, failed]);
    expect(await numbersIn('single')).toEqual([]);
  });

  it('share no connection with reads and do not delay them', async () => {
    const lock = await holdAfter(database, 'SELECT pg_advisory_xact_lock(1)');
    const waits = 'SELECT pg_advisory_xact_lock($1::int)';
    const inserted = statements.insert(waits, [1], (columns) => columns);
    expect(await Promise.race([inserted, who(1)])).toEqual([[1, expect.any(Number)]]);
    await lock.release();
    expect(await inserted).toHaveLength(1);
  });
});

describe('statements that were prepared before a migration', () => {
  const readAll = (number: Parameter) =>
    Promise.all([
      read('SELECT * FROM changing WHERE $1 ORDER BY number', 't'),
      read('SELECT * FROM changing WHERE number = $1', number),
      read('SELECT number FROM changing WHERE (kind, number) > ($1, $2)', 'a', number),
      read('SELECT number, mood FROM changing WHERE mood = $1', 'calm'),
      read('UPDATE changing SET number = $1, kind = $2, mood = $3', number, 'a', 'calm'),
    ]);
  const type = (column: string, name: string) =>
    `ALTER TABLE changing ALTER ${column} TYPE ${name} USING ${column}::text::${name};`;

  it.each([
    ['another length', type('kind', 'varchar(20)')],
    ['an enum', `CREATE TYPE kind AS ENUM ('a'); ${type('kind', 'kind')}`],
    [
      'another enum',
      `CREATE TYPE new_mood AS ENUM ('calm'); ${type('mood', 'new_mood')} DROP TYPE mood`,
    ],
    [
      'larger numbers',
      `${type('number', 'bigint')} UPDATE changing SET number = 5000000000`,
      5_000_000_000n,
    ],
    ['text', type('number', 'text'), '1'],
    ['another column', 'ALTER TABLE changing ADD COLUMN extra int'],
    [
      'another table',
      'CREATE TABLE copy AS TABLE changing; DROP TABLE changing; ALTER TABLE copy RENAME TO changing',
    ],
    ['no statements in the session', ''],
  ])(
    'succeed together and alone on the same connection: %s',
    async (_change, migration, number: Parameter = 1) => {
      openPool({ max: 1 });
      await database.query(`
      DROP TABLE IF EXISTS changing;
      DROP TYPE IF EXISTS kind, mood, new_mood;
      CREATE TYPE mood AS ENUM ('calm');
      CREATE TABLE changing AS SELECT 1 AS number, 'a'::text AS kind, 'calm'::mood AS mood`);
      const [[, pid] = []] = await who(0);
      await readAll(1);
      await (migration === '' ? pool.query('DEALLOCATE ALL') : database.query(migration));
      const [one, all] = await Promise.all([
        pool.query('SELECT * FROM changing WHERE $1 ORDER BY number', ['t']),
        readAll(number),
      ]);
      const row = [number, ...Object.values(one.rows[0]).slice(1)];
      expect(all.slice(0, 2)).toEqual([[row], [row]]);
      expect((await who(0))[0]?.[1]).toBe(pid);
    },
  );
});

test('a migration that locks tables in another order than a batch fails no statement', async () => {
  await database.query('CREATE TABLE one AS SELECT 1 AS number; CREATE TABLE two AS TABLE one');
  const migration = await pool.connect();
  // The batch detects the deadlock first, after a second.
  await migration.query("BEGIN; SET LOCAL deadlock_timeout = '1min'; LOCK TABLE two");
  const reads = ['one', 'two'].map((table) => read(`SELECT number FROM ${table} WHERE $1`, 't'));
  const waiting = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'two'::regclass`;
  while ((await database.query(waiting)).length === 0);
  await migration.query('LOCK TABLE one; COMMIT');
  migration.release();
  expect(await Promise.all(reads)).toEqual([[[1]], [[1]]]);
});

test('the columns of a read are exact, the first time and the next', async () => {
  const sql = `SELECT $1::bigint, $2::int, $3::text, $4::text, $1::bigint + 1 = 9223372036854775807,
                        now(), '', 1::bigint`;
  for (let time = 0; time < 2; time++) {
    const date = expect.any(Date) as Date;
    expect(await read(sql, 9223372036854775806n, 7, '🐈\nZoë', null)).toEqual([
      [9223372036854775806n, 7, '🐈\nZoë', null, true, date, '', 1n],
    ]);
  }
  const digits = '0 -1 999999999999999 1000000000000000 9007199254740993 9223372036854775807';
  const numbers = digits.split(' ').flatMap((text) => [BigInt(text), -BigInt(text)]);
  for (const number of [...numbers, -9_223_372_036_854_775_808n])
    expect(await read('SELECT $1::bigint', number)).toEqual([[number]]);
});
