import { useDatabase } from '../../harness/database/database.js';
import { createOwner } from '../../harness/database/factories.js';
import { Relay } from '../../harness/database/relay.js';
import { ApiClient } from '../../harness/http/client.js';
import { until } from '../../harness/run/until.js';
import { featureFile } from '../../harness/http/store.js';
import { startService, type TestService } from '../../harness/service/service.js';

/** An event of another replica waits for at most this time. */
const LONGEST_PAUSE_MS = 5_000;

const database = useDatabase();
let service: TestService;
let relay: Relay;
let api: ApiClient;

beforeAll(async () => {
  await database.query(
    `CREATE TABLE handled (order_id text, attempt int);
     CREATE TABLE audited (order_id text)`,
  );
  const { key } = await createOwner(database);
  relay = await Relay.open(database.url);
  service = await startService({
    database: { ...database, url: relay.url },
    features: featureFile('events'),
  });
  api = new ApiClient(service, key);
});

/** How often a handler that has no event has looked for one. */
const claims = () => relay.timesSent(Buffer.from('OrderHandlers.delay'));
const rows = (table: string, id: string) =>
  database.query(`SELECT FROM ${table} WHERE order_id = $1`, [id]);
const publish = (id: string, headers = {}) => api.post('/v1/orders', { id, mode: 'ok' }, headers);

test('a handler looks for events of its own process at once, and of others after at most 5 seconds', async () => {
  await until(() => claims() === 1);
  // The clock of the pauses stands still.
  for (const [id, headers] of [
    ['order-1', {}],
    ['order-2', { 'Idempotency-Key': 'order-2' }],
    ['order-3', {}],
  ] as const) {
    expect((await publish(id, headers)).status).toBe(201);
    await until(async () => (await rows('handled', id)).length > 0);
    await until(async () => (await rows('audited', id)).length > 0);
  }
  expect(claims()).toBe(1);
  for (let count = 2; count < 6; count++) {
    // More than once, because a pause begins after its claim has ended.
    await until(async () => {
      await service.advance(LONGEST_PAUSE_MS);
      return claims() >= count;
    });
  }
  await database.query(
    `INSERT INTO outbox_events (event, handler, payload) VALUES ('', 'OrderHandlers.delay', '{"id":"order-4"}')`,
  );
  await until(async () => {
    await service.advance(LONGEST_PAUSE_MS);
    return (await rows('handled', 'order-4')).length > 0;
  });
});
