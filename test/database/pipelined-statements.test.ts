import { setImmediate as nextTick, setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { isUnavailable } from '../../src/platform/database/database-errors.js';
import {
  BoundedPool,
  DatabaseQueueFullError,
} from '../../src/platform/database/pools/bounded-pool.js';
import { PipelinedStatements } from '../../src/platform/database/pipelining/pipelined-statements.js';
import type { Parameter } from '../../src/platform/database/pipelining/statement-batch.js';
import {
  connectionOf,
  PgClient,
  type PgClientConfig,
} from '../../src/platform/database/pipelining/pg-client.js';
import { useDatabase } from '../harness/database/database.js';

const MAX_TOGETHER = 8;
const WHO = 'SELECT pg_backend_pid() AS pid, $1::int AS number';

const database = useDatabase();
let pool: BoundedPool;
let statements: PipelinedStatements;

beforeEach(() => openPool({}));
afterEach(() => pool.end());

function openPool(config: PgClientConfig & Omit<pg.PoolConfig, 'Client'>): void {
  pool = new BoundedPool({
    connectionString: database.url,
    Client: PgClient,
    max: 4,
    maxWaiting: 1_000,
    connectionTimeoutMillis: 5_000,
    ...config,
  });
  pool.on('error', () => undefined);
  statements = new PipelinedStatements(pool);
}

const who = (number: number): Promise<{ pid: number; number: number }[]> =>
  statements.read(WHO, [number], ([pid, asked]: [number, number]) => ({ pid, number: asked }));

const columnsOf = (sql: string, values: readonly Parameter[]): Promise<unknown[][]> =>
  statements.read(sql, values, (columns) => columns);

const whoAre = async (count: number): Promise<{ pid: number; number: number }[]> =>
  (await Promise.all(Array.from({ length: count }, (_, number) => who(number)))).flat();

describe('reads of one event-loop tick', () => {
  it('share a connection, and each gets its own rows', async () => {
    const responses = await whoAre(MAX_TOGETHER);

    expect(responses.map(({ number }) => number)).toEqual([...Array(MAX_TOGETHER).keys()]);
    expect(new Set(responses.map(({ pid }) => pid)).size).toBe(1);
    expect(pool).toMatchObject({ totalCount: 1, idleCount: 1 });
  });

  it('fail with the newest ones when the queue for a connection is full', async () => {
    const bounded = new BoundedPool({
      connectionString: database.url,
      Client: PgClient,
      max: 1,
      maxWaiting: 1,
    });
    statements = new PipelinedStatements(bounded);
    const busy = await bounded.connect();
    const oldest = Array.from({ length: MAX_TOGETHER }, (_, number) => who(number));
    await nextTick();

    await expect(who(MAX_TOGETHER)).rejects.toThrow(DatabaseQueueFullError);
    busy.release();

    expect((await Promise.all(oldest)).flat()).toHaveLength(MAX_TOGETHER);
    await bounded.end();
  });

  it('use another connection for more than eight', async () => {
    const responses = await whoAre(2 * MAX_TOGETHER + 1);

    expect(new Set(responses.map(({ pid }) => pid)).size).toBe(3);
  });

  it('share a connection with later ones that wait', async () => {
    openPool({ max: 1 });
    const busy = await pool.connect();
    const reads = [];
    for (let number = 0; number < 3; number++) {
      reads.push(columnsOf('SELECT now()::text, $1::int', [number]));
      await nextTick();
    }
    busy.release();

    const rows = (await Promise.all(reads)).flat();

    expect(rows.map(([, number]) => number)).toEqual([0, 1, 2]);
    // now() is the time at which the transaction began.
    expect(new Set(rows.map(([startedAt]) => startedAt)).size).toBe(1);
  });

  it('fail separately', async () => {
    const [{ pid } = { pid: 0 }] = await who(0);
    const [before, failure, after] = await Promise.allSettled([
      who(1),
      columnsOf('SELECT 1 / $1::int AS number', [0]),
      who(2),
    ]);

    expect([before, after]).toMatchObject([
      { status: 'fulfilled', value: [{ number: 1 }] },
      { status: 'fulfilled', value: [{ number: 2 }] },
    ]);
    expect(failure).toMatchObject({ status: 'rejected', reason: { code: '22012' } });
    // Otherwise, callers could force reconnects.
    const pids = await database.query<{ pid: number }>(
      'SELECT pid FROM pg_stat_activity WHERE datname = current_database()',
    );
    expect(pids.map((row) => row.pid)).toContain(pid);
    expect(await whoAre(2)).toMatchObject([{ number: 0 }, { number: 1 }]);
  });

  it('are prepared again if the server skipped them', async () => {
    await pool.end();
    openPool({ max: 1 });
    const [failure, skipped] = await Promise.allSettled([
      columnsOf('SELECT 1 / $1::int AS number', [0]),
      who(1),
    ]);

    expect(failure.status).toBe('rejected');
    expect(skipped).toMatchObject({ status: 'fulfilled', value: [{ number: 1 }] });
    expect(await who(2)).toMatchObject([{ number: 2 }]);
  });

  it('fail together when the server has cancelled one', async () => {
    openPool({ statement_timeout: 200 });
    const results = await Promise.allSettled([
      who(1),
      columnsOf('SELECT pg_sleep($1)', [5]),
      who(2),
    ]);

    for (const result of results) {
      expect(result).toMatchObject({ status: 'rejected', reason: { code: '57014' } });
    }
    expect(pool.totalCount).toBe(0);
  });

  it('get one ReadyForQuery, after the last of them', async () => {
    await who(0);
    const seen: string[] = [];
    pool.once('acquire', (client) => {
      const connection = connectionOf(client);
      for (const name of ['commandComplete', 'readyForQuery']) {
        connection.on(name, () => seen.push(name));
      }
    });
    await whoAre(3);

    // The first one is for the plan settings.
    expect(seen).toEqual([...Array<string>(4).fill('commandComplete'), 'readyForQuery']);
  });

  it('fail together when their connection breaks', async () => {
    const [{ pid } = { pid: 0 }] = await who(0);
    const slow = [columnsOf('SELECT pg_sleep($1)', [5]), who(1)];
    const settled = Promise.allSettled(slow);
    await delay(50);
    await database.query('SELECT pg_terminate_backend($1)', [pid]);

    for (const result of await settled) {
      expect(result.status).toBe('rejected');
      expect(result.status === 'rejected' && isUnavailable(result.reason)).toBe(true);
    }
    expect(await who(2)).toMatchObject([{ number: 2 }]);
  });
});

describe('inserts', () => {
  const XACT = 'pg_current_xact_id()::text';

  const insert = (table: string, number: number): Promise<unknown[][]> =>
    statements.insert(
      `INSERT INTO ${table} VALUES ($1::int) RETURNING number, ${XACT}`,
      [number],
      (columns) => columns,
    );
  const numbersIn = async (table: string): Promise<unknown[]> =>
    (await columnsOf(`SELECT number FROM ${table} WHERE $1 ORDER BY number`, ['t'])).flat();

  it('of one event-loop tick are one transaction', async () => {
    await database.query('CREATE TABLE together (number int)');
    const inserted = await Promise.all([1, 2, 3].map((number) => insert('together', number)));

    expect(inserted.flat().map(([number]) => number)).toEqual([1, 2, 3]);
    expect(new Set(inserted.flat().map(([, transaction]) => transaction)).size).toBe(1);
    expect(await numbersIn('together')).toEqual([1, 2, 3]);
    expect(pool).toMatchObject({ totalCount: 1, idleCount: 1 });
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
    await database.query(
      'CREATE TABLE single (number int CONSTRAINT once UNIQUE DEFERRABLE INITIALLY DEFERRED)',
    );
    const results = await Promise.allSettled([1, 2, 1].map((number) => insert('single', number)));

    // An error at the commit belongs to no single statement.
    for (const result of results) {
      expect(result).toMatchObject({ status: 'rejected', reason: { constraint: 'once' } });
    }
    expect(await numbersIn('single')).toEqual([]);
  });

  it('share no connection with reads and do not delay them', async () => {
    const order: string[] = [];
    await Promise.all([
      statements
        .insert('SELECT pg_sleep($1)', [0.3], (columns) => columns)
        .then(() => order.push('insert')),
      who(1).then(() => order.push('read')),
    ]);

    expect(order).toEqual(['read', 'insert']);
    expect(pool.totalCount).toBe(2);
  });

  it('that fail leave their connection open', async () => {
    const failure = statements.insert('SELECT 1 / $1::int', [0], (columns) => columns);

    await expect(failure).rejects.toMatchObject({ code: '22012' });
    expect(pool.totalCount).toBe(1);
  });
});

describe('a connection with a response in progress', () => {
  it('is closed when the response is late, with all statements that wait on it', async () => {
    openPool({ responseTimeoutMs: 200 });
    await who(0);
    const startedAt = performance.now();

    const results = await Promise.allSettled([columnsOf('SELECT pg_sleep($1)', [5]), who(1)]);

    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(results.every((result) => isUnavailable((result as PromiseRejectedResult).reason))).toBe(
      true,
    );
    expect(await who(2)).toMatchObject([{ number: 2 }]);
  });

  it('has the full time for each statement', async () => {
    openPool({ responseTimeoutMs: 400, max: 1 });

    for (let number = 0; number < 4; number++) {
      await columnsOf('SELECT pg_sleep($1)', [0.2]);
    }

    expect(await who(1)).toMatchObject([{ number: 1 }]);
  });
});

it('rejects each read when no connection is available', async () => {
  openPool({ connectionTimeoutMillis: 200, max: 1 });
  const holder = await pool.connect();

  const results = await Promise.allSettled([who(1), who(2)]);

  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(isUnavailable((results[1] as PromiseRejectedResult).reason)).toBe(true);
  holder.release();
});

describe('the columns of a read', () => {
  it('are parsed by their types, the first time and the next', async () => {
    const sql = `SELECT $1::bigint, $2::int, $3::text, $4::text, $1::bigint + 1 = 9223372036854775807,
                        now(), '', 1::bigint`;
    for (let time = 0; time < 2; time++) {
      const rows = await columnsOf(sql, [9223372036854775806n, 7, '🐈\nZoë', null]);

      const date = expect.any(Date) as Date;
      expect(rows).toEqual([[9223372036854775806n, 7, '🐈\nZoë', null, true, date, '', 1n]]);
    }
  });

  it('are exact', async () => {
    const digits = '0 -1 999999999999999 1000000000000000 9007199254740993 9223372036854775807';
    const numbers = digits.split(' ').flatMap((text) => [BigInt(text), -BigInt(text)]);
    for (const number of [...numbers, -9_223_372_036_854_775_808n]) {
      expect(await columnsOf('SELECT $1::bigint', [number])).toEqual([[number]]);
    }
  });

  it('are complete when the server sends them in several pieces', async () => {
    const sql =
      "SELECT number, repeat('ä', number::int * 40) FROM generate_series(1, $1::bigint) AS number";
    const [rows, again] = await Promise.all([columnsOf(sql, [500n]), columnsOf(sql, [500n])]);

    expect(rows).toHaveLength(500);
    for (const [index, [number, text]] of rows.entries()) {
      expect(number).toBe(BigInt(index + 1));
      expect(text).toBe('ä'.repeat((index + 1) * 40));
    }
    expect(again).toEqual(rows);
  });

  it('are described once per connection and statement', async () => {
    openPool({ max: 1 });
    const described: string[] = [];
    pool.on('connect', (client) => {
      connectionOf(client).on('rowDescription', () => described.push('once'));
    });

    const first = await who(1);
    const next = await Promise.all([who(2), who(3), columnsOf('SELECT $1::text', ['x'])]);
    const last = await Promise.all([who(4), columnsOf('SELECT $1::text', ['y'])]);

    // One is of the plan settings.
    expect(described).toHaveLength(3);
    expect(first[0]?.number).toBe(1);
    expect(next).toMatchObject([[{ number: 2 }], [{ number: 3 }], [['x']]]);
    expect(last).toMatchObject([[{ number: 4 }], [['y']]]);
  });

  it('are described each time without prepared statements', async () => {
    openPool({});
    pool.on('connect', (client) => Object.assign(client, { preparesStatements: false }));

    for (const number of [1, 2]) expect(await who(number)).toMatchObject([{ number }]);
    expect((await whoAre(3)).map(({ number }) => number)).toEqual([0, 1, 2]);
    expect(await columnsOf('SELECT name FROM pg_prepared_statements WHERE $1', ['t'])).toEqual([]);
  });

  it('that the row mapper rejects fail only their read', async () => {
    const results = await Promise.allSettled([
      who(1),
      statements.read(WHO, [2], () => {
        throw new Error('no row');
      }),
      who(3),
    ]);

    expect(results).toMatchObject([
      { status: 'fulfilled', value: [{ number: 1 }] },
      { status: 'rejected', reason: { message: 'no row' } },
      { status: 'fulfilled', value: [{ number: 3 }] },
    ]);
    expect(await who(4)).toMatchObject([{ number: 4 }]);
  });
});

it('prepares a statement again after preparing it has failed', async () => {
  openPool({ max: 1 });
  const sql = 'SELECT number FROM made_later WHERE number = $1';
  await expect(columnsOf(sql, [1])).rejects.toMatchObject({ code: '42P01' });
  await database.query('CREATE TABLE made_later AS SELECT 1 AS number');

  expect(await columnsOf(sql, [1])).toEqual([[1]]);
});
