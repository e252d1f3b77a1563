import { PRODUCT } from '../../../../src/product.js';
import { type DatabaseLock, holdItems } from '../../../harness/database/database-lock.js';
import { createItems } from '../../../harness/database/factories.js';
import { type ApiResponse, send } from '../../../harness/http/client.js';
import { expectError } from '../../../harness/http/error-response.js';
import { type Store, useStore } from '../../../harness/http/store.js';
import { limitsOf } from '../../../harness/rate-limit/limits.js';
import { until } from '../../../harness/run/until.js';
import { metric, untilMetric } from '../../../harness/service/metrics.js';

const PET = { name: 'Frank', categoryId: 1 };
const UNREACHABLE = 'The service cannot use its database at the moment. Try again later.';
const OVERLOADED = 'The service is overloaded. Try again later.';

function open(seconds: Record<string, string>, size: Record<string, string> = {}): Store {
  const env = Object.entries(seconds).map(([name, value]) => [`DATABASE_${name}_SECONDS`, value]);
  const store = useStore({ env: { ...Object.fromEntries(env), ...size } });
  beforeAll(async () => {
    await createItems(store.database, 3);
    // From here on the key is known.
    expect((await store.api.get('/v1/items')).status).toBe(200);
  });
  return store;
}

/** Makes every statement on items wait for as long as the work takes. */
async function whileAnimalsAreLocked(
  { database }: Store,
  work: (lock: DatabaseLock) => Promise<void>,
): Promise<void> {
  const lock = await holdItems(database);
  try {
    await work(lock);
  } finally {
    await lock.release();
  }
}

function expectUnavailable(response: ApiResponse, message = UNREACHABLE): void {
  expect(expectError(response, 503, 'service_unavailable')).toBe(message);
}

describe('when a statement does not work', () => {
  // The limit also applies to the statements that succeed.
  const store = open({ STATEMENT_TIMEOUT: '2' });

  it.each([
    ['GET', '/v1/items'],
    ['GET', '/v1/items?status=sold'],
    ['GET', '/v1/items/1'],
    ['POST', '/v1/items'],
  ])(
    '%s %s › 503 when it takes too long, 500 without internal details when it can never succeed',
    async (method, path) => {
      const request = (): Promise<ApiResponse> =>
        method === 'GET' ? store.api.get(path) : store.api.post(path, PET);
      await whileAnimalsAreLocked(store, async () => {
        expectUnavailable(await request());
        const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database()
          AND application_name = '${PRODUCT.database}' AND wait_event_type = 'Lock'`;
        await until(async () => (await store.query(waiting)).length === 0);
      });
      expect((await request()).status).toBeLessThan(300);
      await store.query('ALTER TABLE test_items RENAME COLUMN category_id TO category');
      const response = await request();
      await store.query('ALTER TABLE test_items RENAME COLUMN category TO category_id');
      expect(expectError(response, 500, 'internal_error')).toBe(
        'The service failed to handle the request.',
      );
      const line = await store.service.waitForLog(
        ({ requestId, err }) => requestId === response.headers['x-request-id'] && err !== undefined,
      );
      expect(JSON.stringify(line)).toContain('category_id');
    },
  );
});

describe('when the only connection is at work', () => {
  const store = open(
    { STATEMENT_TIMEOUT: '20', POOL_WAIT: '2', LOCK_TIMEOUT: '20' },
    { DATABASE_POOL_SIZE: '1' },
  );

  it('GET /v1/items › 503 to who waits too long for it, 200 to who has it', async () => {
    let first: Promise<ApiResponse> | undefined;
    await whileAnimalsAreLocked(store, async (lock) => {
      first = store.api.get('/v1/items');
      await lock.waitedFor();
      expectUnavailable(await store.api.get('/v1/items'));
    });
    expect((await first)?.status).toBe(200);
  });

  it('GET /v1/items › 503 when it breaks, and then a response over a new one', async () => {
    await whileAnimalsAreLocked(store, async (lock) => {
      const response = store.api.get('/v1/items');
      await lock.waitedFor();
      await store.query(
        `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = 'test_items'::regclass AND NOT granted`,
      );
      expectUnavailable(await response);
    });
    expect((await store.api.get('/v1/items')).json).toHaveLength(3);
  });
});

describe('with a limit for locks', () => {
  const store = open({ STATEMENT_TIMEOUT: '20', LOCK_TIMEOUT: '1' });

  test('GET /v1/items › 503 when a statement does not get a lock in time', async () => {
    await whileAnimalsAreLocked(store, async () => {
      const response = await store.api.get('/v1/items');
      expectUnavailable(response);
      const id = response.headers['x-request-id'];
      const { cause } = await store.service.waitForLog(({ requestId }) => requestId === id);
      expect(cause).toMatch(/^55P03: /);
    });
  });
});

describe('while the only connection is busy and the queue is full', () => {
  const store = open(
    { STATEMENT_TIMEOUT: '20', POOL_WAIT: '20', LOCK_TIMEOUT: '20' },
    {
      DATABASE_POOL_SIZE: '1',
      DATABASE_QUEUE_SIZE: '2',
      // Probes compete with the other statements of a busy machine.
      READINESS_TIMEOUT_SECONDS: '20',
    },
  );

  test('GET and POST /v1/items › 503 at once with the limits of the address, 200 for those that wait', async () => {
    const { api, service } = store;
    const connections = (state: string) => `db_client_connection_count{state="${state}"}`;
    await untilMetric(service, connections('idle'), (count) => count === 1);
    const lock = await holdItems(store.database);
    const waiting: Promise<ApiResponse>[] = [api.get('/v1/items')];
    await lock.waitedFor();
    // 32 statements share a call that waits for the connection, and two calls may wait.
    for (let count = 0; count < 33; count++) waiting.push(api.get('/v1/items'));
    await untilMetric(service, 'db_client_connection_pending_requests', (count) => count === 2);
    expect(await metric(service, connections('used'))).toBe(1);
    for (const rejected of [
      await api.get('/v1/items'),
      await api.post('/v1/items', PET),
      await api.post('/v1/items', PET, { 'Idempotency-Key': 'k' }),
    ]) {
      expectUnavailable(rejected, OVERLOADED);
      expect(rejected.headers['ratelimit-policy']).toBe('"minute";q=300;w=60');
      expect(rejected.headers['x-ratelimit-remaining']).toBe('300');
    }
    expect(await metric(service, 'shed_total{bound="database_queue"}')).toBe(3);
    const probes = Array.from({ length: 20 }, () => send(service, '/health/ready'));
    for (const { status } of await Promise.all(probes)) expect(status).toBe(200);
    await lock.release();
    for (const { status } of await Promise.all(waiting)) expect(status).toBe(200);
    // The first request, the 34 and this one. No shed request was counted.
    expect(limitsOf(await api.get('/v1/items')).remaining).toBe(1_000_000 - 36);
  });
});
