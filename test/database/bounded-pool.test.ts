import { unknownKey } from '../harness/database/api-keys.js';
import {
  BoundedPool,
  DatabaseQueueFullError,
} from '../../src/platform/database/pools/bounded-pool.js';
import { type ApiResponse, ApiClient, send } from '../harness/http/client.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { holdPets } from '../harness/database/database-lock.js';
import { expectError } from '../harness/http/error-response.js';
import { createOwner } from '../harness/database/factories.js';
import { type BuiltService, startBuiltService } from '../harness/service/service.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.close());

describe('a pool with a bounded queue', () => {
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
    expect(pool.rejected).toBe(2);

    first.release();
    const second = await waiting[0]!;
    expect(pool.isSaturated).toBe(false);
    second.release();
    (await waiting[1]!).release();
    expect((await pool.query('SELECT 1')).rowCount).toBe(1);
    expect(pool.rejected).toBe(2);
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
  let service: BuiltService;
  let client: ApiClient;

  beforeAll(async () => {
    service = await startBuiltService({
      DATABASE_URL: database.url,
      DATABASE_POOL_SIZE: '1',
      DATABASE_QUEUE_SIZE: '2',
      DATABASE_STATEMENT_TIMEOUT_SECONDS: '20',
      DATABASE_LOCK_TIMEOUT_SECONDS: '20',
      DATABASE_POOL_WAIT_SECONDS: '20',
      METRICS_PORT: '0',
    });
    client = new ApiClient(service, (await createOwner(database)).key);
  });
  afterAll(() => service.stop());

  async function metric(name: string): Promise<number> {
    const { metrics } = service.logs().find(({ msg }) => msg === 'listening') ?? {};
    const { text } = await send({ url: String(metrics) }, '/metrics');
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
  }

  test('GET and POST /v1/pets › 503 with Retry-After at once, 200 for those that wait', async () => {
    expect((await client.get('/v1/pets')).status).toBe(200);
    const lock = await holdPets(database);
    const waiting: Promise<ApiResponse>[] = [client.get('/v1/pets')];
    try {
      await lock.waitedFor();
      // Eight statements share a call that waits for the connection, and two calls may wait.
      for (let count = 0; count < 9; count++) waiting.push(client.get('/v1/pets'));
      while ((await metric('db_client_connection_pending_requests')) < 2);
      for (const rejected of [
        await client.get('/v1/pets'),
        await client.post('/v1/pets', { name: 'Frank', categoryId: 1 }),
        await client.post(
          '/v1/pets',
          { name: 'Frank', categoryId: 1 },
          { 'Idempotency-Key': unknownKey() },
        ),
      ]) {
        expect(expectError(rejected, 503, 'service_unavailable')).toBe(
          'The service is overloaded. Try again later.',
        );
        expect(rejected.headers['retry-after']).toMatch(/^[1-9]\d*$/);
      }
      // Requests are shed before they use the queue. The queue's own bound is the last line of
      // defence.
      expect(await metric('pets_database_queue_rejected_total')).toBe(0);
    } finally {
      await lock.release();
    }
    for (const { status } of await Promise.all(waiting)) expect(status).toBe(200);
  });
});
