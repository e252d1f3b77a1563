import { DataSource, type EntityManager } from 'typeorm';
import { ExpiredRecords } from '../../src/platform/idempotency/expired-records.js';
import { IdempotencyRecord } from '../../src/platform/idempotency/idempotency-record.entity.js';
import { IdempotencyRepository } from '../../src/platform/idempotency/idempotency.repository.js';
import { closeBeforeDatabases, useDatabase } from '../harness/database/database.js';

const NOW_MS = Date.parse('2027-03-01T12:00:00.000Z');

const database = useDatabase();
let dataSource: DataSource;
let repository: IdempotencyRepository;
let records: ExpiredRecords;

beforeAll(async () => {
  dataSource = new DataSource({
    type: 'postgres',
    url: database.url,
    entities: [IdempotencyRecord],
  });
  await dataSource.initialize();
  closeBeforeDatabases(() => dataSource.destroy());
  repository = new IdempotencyRepository(dataSource.manager);
});
beforeEach(async () => {
  await database.query('TRUNCATE idempotency_keys');
  records = new ExpiredRecords(repository, { now: () => NOW_MS, monotonicMs: () => NOW_MS });
});
afterEach(() => jest.restoreAllMocks());

/** Adds rows that expire at the given time. */
const add = (count: number, expiresAtMs: number) =>
  database.query(
    `INSERT INTO idempotency_keys
     SELECT $1, number, decode(repeat('00', 32), 'hex'), '{}', $2 FROM generate_series(1, $3) AS number`,
    [expiresAtMs, new Date(expiresAtMs), count],
  );

async function rowCount(): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    'SELECT count(*)::int FROM idempotency_keys',
  );
  return row!.count;
}

describe('expired responses', () => {
  it('are all deleted in batches and no others', async () => {
    await add(2_500, NOW_MS);
    await add(10, NOW_MS + 1);
    const deletions = jest.spyOn(repository, 'deleteExpired');
    await Promise.all([records.delete(), records.delete()]);

    expect(deletions.mock.calls.map(([, limit]) => limit)).toEqual([1_000, 1_000, 1_000]);
    expect(await rowCount()).toBe(10);
  });

  it('are skipped while another replica deletes them', async () => {
    await add(3, NOW_MS);
    await database.query(`BEGIN; SELECT FROM idempotency_keys WHERE key = '2' FOR UPDATE`);
    try {
      expect(await repository.deleteExpired(NOW_MS, 10)).toBe(2);
    } finally {
      await database.query('ROLLBACK');
    }
    expect(await rowCount()).toBe(1);
  });

  it.each(['force_generic_plan', 'force_custom_plan'])(
    'are deleted without reading other rows, with a plan of %s',
    async (mode) => {
      await add(1_000, NOW_MS);
      await add(20_000, NOW_MS + 1);
      await database.query(`ANALYZE idempotency_keys; SET plan_cache_mode = ${mode}`);
      let plan: unknown[] = [];
      const manager = {
        query: async (sql: string, [now, limit]: [Date, number]) => {
          await database.query(`PREPARE explained AS ${sql}`);
          plan = await database.query(
            `EXPLAIN EXECUTE explained ('${now.toISOString()}', ${limit})`,
          );
          return [];
        },
      };
      const explaining = manager as unknown as EntityManager;
      await new IdempotencyRepository(explaining).deleteExpired(NOW_MS, 1_000);
      await database.query('DEALLOCATE explained; RESET plan_cache_mode');

      expect(JSON.stringify(plan)).toMatch(
        /Index Scan using idempotency_keys_expires_at.*Tid Scan/,
      );
      expect(JSON.stringify(plan)).not.toContain('Seq Scan');
    },
  );

  it('are not deleted after the service stops, which waits for the batch in progress', async () => {
    await add(2_500, NOW_MS);
    void records.delete();
    await records.onModuleDestroy();

    expect(await rowCount()).toBe(1_500);
    await records.delete();
    expect(await rowCount()).toBe(1_500);
  });
});
