import { DataSource, type EntityManager } from 'typeorm';
import { Settings } from '../../src/platform/config/settings.js';
import { Transactions } from '../../src/platform/database/transactions.js';
import { isUnavailable } from '../../src/platform/database/database-errors.js';
import { PgClient } from '../../src/platform/database/pipelining/pg-client.js';
import { closeBeforeDatabases, useDatabase } from '../harness/database/database.js';
import { createPets } from '../harness/database/factories.js';
import { expectError } from '../harness/http/error-response.js';
import { useStore } from '../harness/http/store.js';

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

describe('a transaction', () => {
  const database = useDatabase();
  let dataSource: DataSource;
  beforeAll(async () => {
    const extra = { Client: PgClient };
    dataSource = new DataSource({ type: 'postgres', url: database.url, poolSize: 1, extra });
    await dataSource.initialize();
    closeBeforeDatabases(() => dataSource.destroy());
  });

  const transactions = (seconds: string): Transactions =>
    new Transactions(dataSource, new Settings({ DATABASE_STATEMENT_TIMEOUT_SECONDS: seconds }));
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
    await transactions('0.1')
      .run(work)
      .catch(() => undefined);
    // Longer than the deadline of the first one.
    const later = transactions('10').run(async (manager) => {
      await manager.query('SELECT pg_sleep(0.3)');
      return processOf(manager);
    });
    expect(await later).toBe(first);
  });

  it.each(['between two statements', 'before the commit', 'during a statement'])(
    'fails as the database being unavailable when its connection breaks %s',
    async (when) => {
      await database.query('DROP TABLE IF EXISTS notes; CREATE TABLE notes (text text)');
      const transaction = transactions('10').run(async (manager) => {
        await manager.query(`INSERT INTO notes VALUES ('lost')`);
        const pid = await processOf(manager);
        const end = 'SELECT pg_terminate_backend($1, 5000)';
        await (when === 'during a statement'
          ? manager.query(end, [pid])
          : database.query(end, [pid]));
        while (!manager.queryRunner?.isReleased) await new Promise(setImmediate);
        if (when === 'between two statements') await manager.query('SELECT 1');
      });
      const error: unknown = await transaction.catch((thrown: unknown) => thrown);
      expect(isUnavailable(error)).toBe(true);
      expect(await database.query('SELECT FROM notes')).toEqual([]);
    },
  );
});
