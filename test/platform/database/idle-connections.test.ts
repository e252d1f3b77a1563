import type { NestExpressApplication } from '@nestjs/platform-express';
import { PRODUCT } from '../../../src/product.js';
import { Settings } from '../../../src/platform/config/settings.js';
import { connectionConfig } from '../../../src/platform/database/data-source-options.js';
import { BoundedPool } from '../../../src/platform/database/pools/bounded-pool.js';
import { DatabaseProbe } from '../../../src/platform/database/pools/database-probe.js';
import { useDatabase } from '../../harness/database/database.js';
import { createOwner } from '../../harness/database/factories.js';
import { Relay } from '../../harness/database/relay.js';
import { until } from '../../harness/run/until.js';
import { startTestingApp } from '../../harness/service/testing-app.js';
import { StoreModule } from '../../harness/features/store/store.module.js';

/** How long a network keeps an idle connection at least. */
const NETWORK_LIMIT_MS = 60_000;
/** How much faster idle connections age in this test. */
const SPEED = 2_500;
/** Many times what the pool needs. */
const RESPONSE_LIMIT_MS = 20_000;

const database = useDatabase();
let relay: Relay;
let app: NestExpressApplication;
let url: string;
let headers: Record<string, string>;

beforeAll(async () => {
  relay = await Relay.open(database.url);
  const options = { database: { ...database, url: relay.url }, features: [StoreModule] };
  ({ app, url } = await startTestingApp(options));
  const { key } = await createOwner(database);
  headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
});

const list = () => fetch(`${url}/v1/items`, { headers });
const create = (key?: string) =>
  fetch(`${url}/v1/items`, {
    method: 'POST',
    headers: { ...headers, ...(key && { 'Idempotency-Key': key }) },
    body: JSON.stringify({ name: 'Frank', categoryId: 1 }),
  });
const ready = () => fetch(`${url}/health/ready`);
const statuses = async (requests: Promise<Response>[]) =>
  (await Promise.all(requests)).map(({ status }) => status);

test('a pool closes a connection before a network forgets it, and the system sends keepalives', () => {
  const { database } = new Settings(PRODUCT, { DATABASE_URL: 'postgres://db' });
  for (const purpose of ['', 'probes', 'cli']) {
    const config = connectionConfig(database.connection ?? {}, database, purpose);
    const { idleTimeoutMillis = 0, keepAliveInitialDelayMillis = 0 } = config;
    for (const ms of [idleTimeoutMillis, keepAliveInitialDelayMillis]) {
      expect(ms).toBeGreaterThan(0);
      expect(ms).toBeLessThan(NETWORK_LIMIT_MS);
    }
    expect(config.keepAlive).toBe(true);
  }
});

test('after a silence in which the network forgets all connections, no request of a burst fails', async () => {
  const probe: unknown = app.get(DatabaseProbe, { strict: false });
  const { pool: ofProbe } = probe as { pool: BoundedPool };
  for (const pool of [app.get(BoundedPool, { strict: false }), ofProbe]) {
    const { idleTimeoutMillis } = pool.options;
    // 0 would keep the connections for ever.
    expect(idleTimeoutMillis).toBeGreaterThan(0);
    expect(idleTimeoutMillis).toBeLessThan(NETWORK_LIMIT_MS);
    pool.options.idleTimeoutMillis = idleTimeoutMillis! / SPEED;
    // The limit counts from the next use.
    const used = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
    for (const connection of used) connection.release();
  }
  await until(() => relay.open === 0, RESPONSE_LIMIT_MS);
  relay.forget();
  const requests = [
    ...Array.from({ length: 10 }, list),
    ...Array.from({ length: 5 }, () => create()),
    ...Array.from({ length: 5 }, (_, index) => create(`key-${index}`)),
    ready(),
  ];
  expect(new Set(await statuses(requests))).toEqual(new Set([200, 201]));
});
