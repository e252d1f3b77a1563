import {
  BoundedPool,
  DatabaseQueueFullError,
} from '../../src/platform/database/pools/bounded-pool.js';
import { useDatabase } from '../harness/database/database.js';
import { holdPets } from '../harness/database/database-lock.js';
import type { ApiResponse } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { useStore } from '../harness/http/store.js';
import { limitsOf } from '../harness/rate-limit/limits.js';
import { metric, untilMetric } from '../harness/service/metrics.js';

describe('a pool with a bounded queue', () => {
  const database = useDatabase();
  const pools: BoundedPool[] = [];
  afterEach(() => Promise.all(pools.splice(0).map((pool) => pool.end())));

  function open(max: number, maxWaiting: number): BoundedPool {
    const pool = new BoundedPool({ connectionString: database.url, max, maxWaiting });
    pools.push(pool);
    return pool;
  }

  it('fails at once, and only while the maximum number of calls waits', async () => {
    const pool = open(1, 2);
    const first = await pool.connect();
    const waiting = [pool.connect(), pool.connect()];
    expect(pool.isSaturated).toBe(true);
    await expect(pool.connect()).rejects.toThrow(DatabaseQueueFullError);
    await expect(pool.query('SELECT 1')).rejects.toThrow(DatabaseQueueFullError);

    first.release();
    const second = await waiting[0]!;
    expect(pool.isSaturated).toBe(false);
    second.release();
    (await waiting[1]!).release();
    expect((await pool.query('SELECT 1')).rowCount).toBe(1);
  });

  it('does not count calls for which connections are available', async () => {
    const pool = open(3, 1);
    // One of the three connections is open and idle, two can be opened, one call can wait.
    await pool.query('SELECT 1');
    const outcomes = await Promise.allSettled(
      Array.from({ length: 5 }, () => pool.query('SELECT pg_sleep(0.1)')),
    );
    expect(outcomes.map(({ status }) => status).sort()).toEqual([
      ...Array<string>(4).fill('fulfilled'),
      'rejected',
    ]);
  });
});

describe('while every connection is busy and the queue is full', () => {
  const store = useStore({
    env: {
      DATABASE_POOL_SIZE: '1',
      DATABASE_QUEUE_SIZE: '2',
      DATABASE_STATEMENT_TIMEOUT_SECONDS: '20',
      DATABASE_LOCK_TIMEOUT_SECONDS: '20',
      DATABASE_POOL_WAIT_SECONDS: '20',
    },
  });

  test('GET and POST /v1/pets › 503 with Retry-After at once, 200 for those that wait', async () => {
    const { api, service } = store;
    expect((await api.get('/v1/pets')).status).toBe(200);
    const connections = (state: string) => `db_client_connection_count{state="${state}"}`;
    await untilMetric(service, connections('idle'), (count) => count === 1);
    expect(await metric(service, connections('used'))).toBe(0);
    const lock = await holdPets(store.database);
    const waiting: Promise<ApiResponse>[] = [api.get('/v1/pets')];
    await lock.waitedFor();
    // Eight statements share a call that waits for the connection, and two calls may wait.
    for (let count = 0; count < 9; count++) waiting.push(api.get('/v1/pets'));
    const pending = 'db_client_connection_pending_requests';
    await untilMetric(service, pending, (count) => count === 2);
    expect(await metric(service, connections('used'))).toBe(1);
    const pet = { name: 'Frank', categoryId: 1 };
    for (const rejected of [
      await api.get('/v1/pets'),
      await api.post('/v1/pets', pet),
      await api.post('/v1/pets', pet, { 'Idempotency-Key': 'k' }),
    ]) {
      expect(expectError(rejected, 503, 'service_unavailable')).toBe(
        'The service is overloaded. Try again later.',
      );
      expect(rejected.headers).toMatchObject({
        'retry-after': expect.stringMatching(/^[1-9]\d*$/),
        // The limits of the address.
        'ratelimit-policy': '"minute";q=300;w=60',
        'x-ratelimit-remaining': '300',
      });
    }
    expect(await metric(service, 'pets_shed_total{bound="database_queue"}')).toBe(3);
    await lock.release();
    for (const { status } of await Promise.all(waiting)) expect(status).toBe(200);
    // The first request, the ten and this one. No shed request was counted.
    expect(limitsOf(await api.get('/v1/pets')).remaining).toBe(1_000_000 - 12);
  });
});
