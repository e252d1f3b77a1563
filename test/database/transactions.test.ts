import { AsyncResource } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { EntityManager } from 'typeorm';
import { StoreDataSource } from '../../src/platform/database/store-data-source.js';
import { isUnavailable } from '../../src/platform/database/database-errors.js';
import { PgClient } from '../../src/platform/database/pipelining/pg-client.js';
import { PipelinedStatements } from '../../src/platform/database/pipelining/pipelined-statements.js';
import { columnTypes } from '../../src/platform/database/pipelining/statement-batch.js';
import { closeBeforeDatabases, useDatabase } from '../harness/database/database.js';
import { createPets } from '../harness/database/factories.js';
import { expectError } from '../harness/http/error-response.js';
import { useStore } from '../harness/http/store.js';

const AMPLE_MS = 10_000;

const poolOf = ({ driver }: StoreDataSource) => (driver as unknown as { master: Pool }).master;

const database = useDatabase();
const sources: StoreDataSource[] = [];

async function dataSourceWith(limitMs: number): Promise<StoreDataSource> {
  const options = { Client: PgClient, types: columnTypes, connectionTimeoutMillis: AMPLE_MS };
  const source = new StoreDataSource(
    { type: 'postgres', url: database.url, poolSize: 1, extra: options },
    limitMs,
  );
  sources.push(source);
  return source.initialize();
}

let store: StoreDataSource;
let hasty: StoreDataSource;

beforeAll(async () => {
  store = await dataSourceWith(AMPLE_MS);
  hasty = await dataSourceWith(100);
  closeBeforeDatabases(() => Promise.all(sources.map((source) => source.destroy())));
  await database.query('CREATE TABLE notes (text text)');
});

// The next transaction would fail if the only connection were not returned, or were broken.
afterEach(async () => {
  await database.query('TRUNCATE notes');
  await store.transaction((transaction) => transaction.query('SELECT txid_current()'));
});

const notes = () => database.query('SELECT text FROM notes');
const NOTE = 'INSERT INTO notes VALUES ($1)';

const failureOf = (transaction: Promise<unknown>): Promise<unknown> =>
  transaction.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('a transaction', () => {
  it('commits when its work is done, and returns what that does', async () => {
    const result = await store.transaction(async (transaction) => {
      await transaction.query(NOTE, ['kept']);
      return 'done';
    });

    expect(result).toBe('done');
    expect(await notes()).toEqual([{ text: 'kept' }]);
  });

  it('rolls back when its work fails, and throws that failure', async () => {
    const failure = new Error('no');
    const transaction = store.transaction(async (manager) => {
      await manager.query(NOTE, ['lost']);
      throw failure;
    });

    expect(await failureOf(transaction)).toBe(failure);
    expect(await notes()).toEqual([]);
  });

  it('is rolled back when it takes too long, even if each statement is fast', async () => {
    const startedAt = performance.now();
    const transaction = hasty.transaction(async (manager) => {
      await manager.query(NOTE, ['lost']);
      while (performance.now() - startedAt < AMPLE_MS) await manager.query('SELECT pg_sleep(0.05)');
    });

    expect(isUnavailable(await failureOf(transaction))).toBe(true);
    expect(performance.now() - startedAt).toBeLessThan(AMPLE_MS / 2);
    expect(await notes()).toEqual([]);
  });

  it.each([
    ['that is done', () => Promise.resolve('done')],
    ['that fails', () => Promise.reject(new Error('no'))],
  ])('leaves its deadline to no later use of its connection: one %s', async (_how, end) => {
    const processOf = async (manager: EntityManager): Promise<number> => {
      const [{ pid }] = await manager.query<[{ pid: number }]>('SELECT pg_backend_pid() AS pid');
      return pid;
    };
    let first: number | undefined;
    await failureOf(
      hasty.transaction(async (manager) => {
        first = await processOf(manager);
        return end();
      }),
    );
    // Longer than the deadline of the first one.
    await delay(150);

    expect(await hasty.transaction(processOf)).toBe(first);
  });

  it.each([
    ['between two statements', [NOTE]],
    ['before the commit', []],
  ])('fails as the database being away when its connection breaks %s', async (_when, rest) => {
    const transaction = store.transaction(async (manager) => {
      await manager.query(NOTE, ['lost']);
      const [{ pid }] = await manager.query<[{ pid: number }]>('SELECT pg_backend_pid() AS pid');
      await database.query('SELECT pg_terminate_backend($1, 5000)', [pid]);
      while (!manager.queryRunner?.isReleased) await new Promise(setImmediate);
      for (const statement of rest) await manager.query(statement, ['lost']);
    });

    expect(isUnavailable(await failureOf(transaction))).toBe(true);
    expect(await notes()).toEqual([]);
  });

  it('fails as the database being away when its connection breaks during a statement', async () => {
    const transaction = store.transaction(async (manager) => {
      await manager.query(NOTE, ['lost']);
      await manager.query('SELECT pg_terminate_backend(pg_backend_pid())');
    });

    expect(isUnavailable(await failureOf(transaction))).toBe(true);
    expect(await notes()).toEqual([]);
  });
});

describe('what runs in a transaction', () => {
  it('joins it: the injected manager, query builders, statements of the data source and pipelined ones', async () => {
    const statements = new PipelinedStatements(poolOf(store));
    const count = 'SELECT count(*)::int AS count FROM notes';
    const transaction = store.transaction(async () => {
      await store.manager.query(NOTE, ['one']);
      await store.query(NOTE, ['two']);
      await statements.insert(NOTE, ['three'], () => undefined);
      const builder = store.manager.createQueryBuilder().select('count(*)::int', 'count');
      const [own] = await store.query<[object]>(count);
      const [read] = await statements.read(count, [], ([number]: [number]) => number);
      expect([own, read, await builder.from('notes', 'notes').getRawOne()]).toEqual([
        { count: 3 },
        3,
        { count: 3 },
      ]);
      throw new Error('no');
    });

    expect(await failureOf(transaction)).toEqual(new Error('no'));
    expect(await notes()).toEqual([]);
  });

  it('joins it as another transaction, which can fail alone', async () => {
    await store.transaction(async () => {
      await store.transaction(() => store.query(NOTE, ['kept']));
      const inner = store.transaction(async () => {
        await store.query(NOTE, ['lost']);
        throw new Error('no');
      });
      expect(await failureOf(inner)).toEqual(new Error('no'));
    });

    expect(await notes()).toEqual([{ text: 'kept' }]);
  });

  it('does not join it after its end', async () => {
    let later: () => Promise<unknown> = () => Promise.resolve();
    await store.transaction((manager) => {
      later = AsyncResource.bind(() => store.query(NOTE, ['later']));
      return manager.query('SELECT 1');
    });
    await later();

    expect(await notes()).toEqual([{ text: 'later' }]);
  });
});

describe('POST /v1/… of a feature that runs a transaction', () => {
  const store = useStore({
    // The next request waits for the connection of this one.
    env: { DATABASE_POOL_SIZE: '1', DATABASE_STATEMENT_TIMEOUT_SECONDS: '0.5' },
    features: 'database',
  });

  it.each([
    ['done', 201, 'when it is committed, with the change of another service that got the manager'],
    ['fails', 500, 'when the work throws, and nothing has changed'],
    ['hangs', 503, 'when it takes too long, nothing has changed, and the connection is free'],
  ])('%s › %i %s', async (then, status) => {
    const [id] = await createPets(store.database, 1);
    const startedAt = performance.now();
    const response = await store.api.post(`/v1/database/sales/${id}/${then}`, undefined);
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    const { json: pet } = await store.api.get(`/v1/pets/${id}`);
    if (status === 201) expect(response).toMatchObject({ status, json: { status: 'sold' } });
    else expectError(response, status, status === 500 ? 'internal_error' : 'service_unavailable');
    expect(pet.status === 'sold').toBe(status === 201);
  });
});
