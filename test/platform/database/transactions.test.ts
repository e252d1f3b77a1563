import { AsyncResource } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { EntityManager } from 'typeorm';
import { StoreDataSource } from '../../../src/platform/database/pipelining/store-data-source.js';
import { isUnavailable } from '../../../src/platform/database/database-errors.js';
import { PgClient } from '../../../src/platform/database/pipelining/pg-client.js';
import { PipelinedStatements } from '../../../src/platform/database/pipelining/pipelined-statements.js';
import { closeBeforeDatabases, useDatabase } from '../../harness/database/database.js';
import { createItems } from '../../harness/database/factories.js';
import { expectError } from '../../harness/http/error-response.js';
import { useStore } from '../../harness/http/store.js';

describe('POST /v1/… of a feature that runs a transaction', () => {
  const store = useStore({
    // The next request waits for the connection of this one. The time limit also applies to the
    // transaction that is committed.
    env: { DATABASE_POOL_SIZE: '1', DATABASE_STATEMENT_TIMEOUT_SECONDS: '3' },
    features: 'database',
  });

  it.each([
    ['done', 201, 'when it is committed, with the change of another service that got the manager'],
    ['fails', 500, 'when the work throws, and nothing has changed'],
    ['hangs', 503, 'when it takes too long, nothing has changed, and the connection is free'],
  ])('%s › %i %s', async (then, status) => {
    const [id] = await createItems(store.database, 1);
    const response = await store.api.post(`/v1/database/sales/${id}/${then}`, undefined);
    const next = await store.api.get(`/v1/items/${id}`);
    expect(next).toMatchObject({
      status: 200,
      json: { status: status === 201 ? 'sold' : 'available' },
    });
    if (status === 201) expect(response).toMatchObject({ status, json: { status: 'sold' } });
    else expectError(response, status, status === 500 ? 'internal_error' : 'service_unavailable');
  });
});

describe('a transaction', () => {
  /** The transactions that must be done before it stay below it on a busy machine. */
  const DEADLINE_MS = 2_000;
  const database = useDatabase();
  let store: StoreDataSource;
  let hasty: StoreDataSource;
  beforeAll(async () => {
    const open = (responseTimeoutMs: number) =>
      new StoreDataSource({
        type: 'postgres',
        url: database.url,
        poolSize: 1,
        extra: { Client: PgClient, responseTimeoutMs },
      }).initialize();
    store = await open(10_000);
    hasty = await open(DEADLINE_MS);
    closeBeforeDatabases(() => Promise.all([store.destroy(), hasty.destroy()]));
  });
  beforeEach(() =>
    database.query('DROP TABLE IF EXISTS test_notes; CREATE TABLE test_notes (text text)'),
  );

  const NOTE = 'INSERT INTO test_notes VALUES ($1)';
  const notes = () => database.query('SELECT text FROM test_notes');
  const failureOf = (transaction: Promise<unknown>): Promise<unknown> =>
    transaction.catch((error: unknown) => error);
  const processOf = async (manager: EntityManager): Promise<number> => {
    const [{ pid }] = await manager.query<[{ pid: number }]>('SELECT pg_backend_pid() AS pid');
    return pid;
  };

  it.each([
    ['that is done', () => Promise.resolve()],
    ['that fails', () => Promise.reject(new Error('no'))],
  ])('leaves its deadline to no later use of its connection: one %s', async (_how, end) => {
    let first: number | undefined;
    const work = async (manager: EntityManager): Promise<void> => {
      first = await processOf(manager);
      await end();
    };
    await failureOf(hasty.transaction(work));
    await delay(DEADLINE_MS + 100);
    expect(await hasty.transaction(processOf)).toBe(first);
  });

  it.each(['between two statements', 'before the commit', 'during a statement'])(
    'fails as the database being unavailable when its connection breaks %s',
    async (when) => {
      const transaction = store.transaction(async (manager) => {
        await manager.query(NOTE, ['lost']);
        const pid = await processOf(manager);
        const end = 'SELECT pg_terminate_backend($1, 5000)';
        await (when === 'during a statement'
          ? manager.query(end, [pid])
          : database.query(end, [pid]));
        while (!manager.queryRunner?.isReleased) await new Promise(setImmediate);
        if (when === 'between two statements') await manager.query('SELECT 1');
      });
      expect(isUnavailable(await failureOf(transaction))).toBe(true);
      expect(await notes()).toEqual([]);
    },
  );

  it('is joined by the injected manager, query builders, and pipelined statements', async () => {
    const { master } = store.driver as unknown as { master: Pool };
    const statements = new PipelinedStatements(master);
    const count = 'SELECT count(*)::int AS count FROM test_notes';
    const transaction = store.transaction(async () => {
      await store.manager.query(NOTE, ['one']);
      await store.query(NOTE, ['two']);
      await statements.insert(NOTE, ['three'], () => undefined);
      const builder = store.manager.createQueryBuilder().select('count(*)::int', 'count');
      const [own] = await store.query<[object]>(count);
      const [read] = await statements.read(count, [], ([number]: [number]) => ({ count: number }));
      const built = await builder.from('test_notes', 'notes').getRawOne<object>();
      expect([own, read, built]).toEqual([{ count: 3 }, { count: 3 }, { count: 3 }]);
      throw new Error('no');
    });

    expect(await failureOf(transaction)).toEqual(new Error('no'));
    expect(await notes()).toEqual([]);
  });

  it('is joined by another transaction, which can fail alone', async () => {
    await store.transaction(async () => {
      await store.transaction(() => store.query(NOTE, ['kept']));
      const inner = store.transaction('SERIALIZABLE', async () => {
        await store.query(NOTE, ['lost']);
        throw new Error('no');
      });
      expect(await failureOf(inner)).toEqual(new Error('no'));
    });

    expect(await notes()).toEqual([{ text: 'kept' }]);
  });

  it('does not fail when a migration changes other columns before it or meanwhile', async () => {
    const { master } = store.driver as unknown as { master: Pool };
    const statements = new PipelinedStatements(master);
    const sql = 'SELECT * FROM changing WHERE number = $1';
    const read = () =>
      Promise.all([store.query(sql, [1]), statements.read(sql, [1], Object.values)]);
    await database.query('CREATE TABLE changing AS SELECT 1 AS number');
    await store.transaction(read);
    for (const column of ['a', 'b']) {
      // Outside of a transaction, it is prepared.
      await read();
      await database.query(`ALTER TABLE changing ADD COLUMN ${column} int DEFAULT 2`);
      const [rows, columns] = await store.transaction(async (manager) => {
        await processOf(manager);
        await database.query(`ALTER TABLE changing ALTER ${column} TYPE bigint`);
        return read();
      });
      expect(Object.values((rows as object[])[0]!).map(Number)).toEqual(columns[0]!.map(Number));
    }
  });

  it.each([
    ['altered', 'ALTER TABLE altered ADD COLUMN b int'],
    ['lost', 'DEALLOCATE ALL'],
  ])(
    'fails once as the database being unavailable when a statement that is prepared in it is stale: %s',
    async (table, change) => {
      const sql = `SELECT * FROM ${table} WHERE a = $1`;
      const read = () => store.statements.runTyped(sql, [1], (row) => row);
      await database.query(`CREATE TABLE ${table} AS SELECT 1 AS a`);
      await store.transaction(read);
      await (table === 'lost' ? store.query(change) : database.query(change));
      expect(isUnavailable(await failureOf(store.transaction(read)))).toBe(true);
      expect(await store.transaction(read)).toHaveLength(1);
    },
  );

  it('is not joined after its end', async () => {
    let later: () => Promise<unknown> = () => Promise.resolve();
    await store.transaction((manager) => {
      later = AsyncResource.bind(() => store.query(NOTE, ['later']));
      return manager.query('SELECT 1');
    });
    await later();

    expect(await notes()).toEqual([{ text: 'later' }]);
  });
});
