import { Relay } from '../../harness/database/relay.js';
import { useStore } from '../../harness/http/store.js';
import { until } from '../../harness/run/until.js';

/** How long a network keeps an idle connection at least. */
const NETWORK_LIMIT_MS = 60_000;

let relay: Relay;
const store = useStore(async (database) => {
  relay = await Relay.open(database.url);
  return { database: { ...database, url: relay.url }, features: 'idle' };
});

const create = (headers?: Record<string, string>) =>
  store.api.post('/v1/items', { name: 'Frank', categoryId: 1 }, headers);

test('after a silence in which the network forgets all connections, no request of a burst fails', async () => {
  const limitsMs = (await store.api.get('/v1/connections')).json as number[];
  expect(limitsMs).toHaveLength(2);
  for (const limitMs of limitsMs) {
    // 0 would keep the connections for ever.
    expect(limitMs).toBeGreaterThan(0);
    expect(limitMs).toBeLessThan(NETWORK_LIMIT_MS);
  }
  expect((await store.api.post('/v1/connections/aged', {})).status).toBe(201);
  await until(() => relay.open === 0);
  relay.forget();
  const requests = [
    ...Array.from({ length: 10 }, () => store.api.get('/v1/items')),
    ...Array.from({ length: 5 }, () => create()),
    ...Array.from({ length: 5 }, (_, index) => create({ 'Idempotency-Key': `key-${index}` })),
    store.anonymous.get('/health/ready'),
  ];
  const statuses = (await Promise.all(requests)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200, 201]));
});

test('after two hours without requests, a replica opens two connections per hour, for two statements each', async () => {
  const pass = () => store.service.runJob('IdleHours.pass');
  const sent = () => [
    relay.accepted,
    ...['SELECT key, own', 'DELETE FROM idempotency_keys', 'DELETE FROM api_key_usage'].map(
      (statement) => relay.timesSent(Buffer.from(statement)),
    ),
  ];

  await store.service.runJob('IdleHours.begin');
  await pass();
  await pass();
  const before = sent();
  await pass();
  expect(sent().map((count, index) => count - before[index]!)).toEqual([2, 2, 1, 1]);
});
