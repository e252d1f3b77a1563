import pg from 'pg';
import { PipelinedStatements } from '../../src/platform/database/pipelining/pipelined-statements.js';
import { PgClient } from '../../src/platform/database/pipelining/pg-client.js';
import { useStore } from '../harness/http/store.js';

const SETTINGS = `SELECT current_setting('plan_cache_mode'), current_setting('enable_seqscan') WHERE $1`;

// Every statement runs on the same connection.
const store = useStore({ env: { DATABASE_POOL_SIZE: '1' }, features: 'database' });

it("GET /v1/… of a feature › its queries have PostgreSQL's default plan settings, after lists and creates too", async () => {
  const defaults = [{ planCacheMode: 'auto', enableSeqscan: 'on' }];
  for (let time = 0; time < 2; time++) {
    const { json } = await store.api.get('/v1/database/plan-settings');
    expect(json).toEqual({ repository: defaults, transaction: defaults });
    expect((await store.api.get('/v1/pets')).status).toBe(200);
    expect((await store.api.post('/v1/pets', { name: 'Frank', categoryId: 1 })).status).toBe(201);
  }
});

describe('a read of PipelinedStatements', () => {
  let pool: pg.Pool;
  let statements: PipelinedStatements;

  beforeAll(() => {
    pool = new pg.Pool({
      connectionString: store.database.url,
      ...({ Client: PgClient } as object),
      max: 1,
    });
    statements = new PipelinedStatements(pool);
  });
  afterAll(() => pool.end());

  const settingsOfRead = (): Promise<unknown[]> =>
    statements.read(SETTINGS, ['t'], (columns) => columns);

  it('is planned once, by an index, and leaves the settings of its connection as they were', async () => {
    expect(await settingsOfRead()).toEqual([['force_generic_plan', 'off']]);
    const { rows } = await pool.query({ text: SETTINGS, values: ['t'], rowMode: 'array' });
    expect(rows).toEqual([['auto', 'on']]);
  });

  it('has these settings in each batch, also after one that failed', async () => {
    const results = await Promise.allSettled([
      settingsOfRead(),
      statements.read('SELECT 1 / $1::int', [0], (columns) => columns),
    ]);
    expect(results).toMatchObject([
      { status: 'fulfilled', value: [['force_generic_plan', 'off']] },
      { status: 'rejected', reason: { code: '22012' } },
    ]);
  });

  it('never has a custom plan', async () => {
    const list = 'SELECT id FROM pets WHERE id > $1 ORDER BY id LIMIT $2';
    for (let limit = 1; limit < 10; limit++) await statements.read(list, [0, limit], () => null);
    const { rows } = await pool.query(
      `SELECT generic_plans::int AS generic, custom_plans::int AS custom FROM pg_prepared_statements
        WHERE statement = '${list}'`,
    );
    expect(rows).toEqual([{ generic: 9, custom: 0 }]);
  });
});
