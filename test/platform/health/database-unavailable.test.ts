import { ApiClient } from '../../harness/http/client.js';
import { Relay } from '../../harness/database/relay.js';
import { expectError } from '../../harness/http/error-response.js';
import { createKey } from '../../harness/database/factories.js';
import { useStore } from '../../harness/http/store.js';
import { until } from '../../harness/run/until.js';
import { metric } from '../../harness/service/metrics.js';

/** Less than the defaults. The response deadline is their sum and half a second. */
const FAST = { DATABASE_POOL_WAIT_SECONDS: '0.8', DATABASE_STATEMENT_TIMEOUT_SECONDS: '0.4' };
/** Many times the response deadline. Nothing restores the connection before it. */
const RESPONSE_LIMIT_MS = 30_000;

let relay: Relay;
const store = useStore(async (database) => {
  relay = await Relay.open(database.url);
  return { env: { DATABASE_URL: relay.url, ...FAST } };
});
/** Has an API key that the service has not looked up yet. */
let newClient: ApiClient;

const untilServed = () => until(async () => (await store.api.get('/v1/items')).status === 200);

beforeEach(async () => {
  const { key } = await createKey(store.database, store.owner.id);
  newClient = new ApiClient(store.service, key);
  await untilServed();
});
afterEach(() => relay.restore());

describe.each([
  ['cut', () => relay.cut()],
  ['stalled', () => Promise.resolve(relay.hold())],
])('while the connection to the database is %s', (_title, interrupt) => {
  test('every operation is 503 with Retry-After in time, and recovers automatically', async () => {
    await interrupt();
    const startedAt = performance.now();
    const responses = await Promise.all([
      newClient.get('/v1/items'),
      store.api.get('/v1/items'),
      store.api.get('/v1/items?status=sold'),
      store.api.get('/v1/items/1'),
      store.api.post('/v1/items', { name: 'Frank', categoryId: 1 }),
      store.api.post('/v1/items', { name: 'Frank', categoryId: 1 }, { 'Idempotency-Key': 'a' }),
    ]);
    expect(performance.now() - startedAt).toBeLessThan(RESPONSE_LIMIT_MS);
    // The owner of an API key that is not cached is unknown. The others have another limit.
    expect(responses[0].headers['x-ratelimit-limit']).toBe('300');
    for (const response of responses) {
      expectError(response, 503, 'service_unavailable');
      const line = await store.service.waitForLog(
        ({ requestId, msg }) => requestId === response.headers['x-request-id'] && msg === 'request',
      );
      expect(line).toMatchObject({ level: 40, status: 503, code: 'service_unavailable' });
      expect(line['cause']).toMatch(/[a-z]{4}/i);
      expect(line).not.toHaveProperty('err');
    }

    for (const series of ['ready', 'component_up{component="database"}'])
      expect(await metric(store.service, series)).toBe(0);
    const changed = await store.service.waitForLog(
      ({ msg, component }) => msg === 'component changed' && component === 'database',
    );
    expect(changed).toMatchObject({ state: 'down', cause: expect.any(String) });

    await relay.restore();
    await untilServed();
    expect(await metric(store.service, 'ready')).toBe(1);
    await until(async () => (await store.anonymous.get('/health/ready')).status === 200);
  });

  test('401, 404, 405 and liveness need no database', async () => {
    await interrupt();
    expectError(await store.anonymous.get('/v1/items'), 401, 'missing_api_key');
    expectError(await store.api.get('/v1/nope'), 404, 'route_not_found');
    expectError(await store.api.send('/v1/items', { method: 'PUT' }), 405, 'method_not_allowed');
    expect((await store.anonymous.get('/health/live')).status).toBe(200);
  });

  test('the service is not ready, and any number of probes share one query', async () => {
    await interrupt();
    const { accepted } = relay;
    const startedAt = performance.now();
    const responses = await Promise.all(
      Array.from({ length: 100 }, () => store.anonymous.get('/health/ready')),
    );
    expect(performance.now() - startedAt).toBeLessThan(RESPONSE_LIMIT_MS);
    expect(relay.accepted - accepted).toBeLessThan(3);
    for (const { status, json } of responses) {
      expect([status, json.status, json.checks.database]).toEqual([503, 'unavailable', 'down']);
    }
  });
});
