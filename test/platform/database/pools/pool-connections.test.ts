import { Settings } from '../../../../src/platform/config/settings.js';
import { connectionConfig } from '../../../../src/platform/database/data-source-options.js';
import { isUnavailable } from '../../../../src/platform/database/database-errors.js';
import { BoundedPool } from '../../../../src/platform/database/pools/bounded-pool.js';
import { PRODUCT } from '../../../../src/product.js';
import { useDatabase } from '../../../harness/database/database.js';
import { Relay } from '../../../harness/database/relay.js';

const MINUTE_MS = 60_000;
/** How long a network keeps an idle connection at least. */
const NETWORK_LIMIT_MS = 60_000;

const database = useDatabase();
let relay: Relay;
let pool: BoundedPool;

beforeAll(async () => {
  await database.query('CREATE TABLE test_notes (text text)');
  relay = await Relay.open(database.url);
});
beforeEach(() => {
  const env = { DATABASE_URL: relay.url, DATABASE_STATEMENT_TIMEOUT_SECONDS: '1' };
  const settings = new Settings(PRODUCT, env).database;
  pool = new BoundedPool(connectionConfig(settings.connection!, settings));
});
afterEach(async () => {
  jest.restoreAllMocks();
  await relay.restore();
  await pool.end();
});

/** Runs a statement whose response does not arrive. Returns its error. */
async function runLate(sql: string): Promise<unknown> {
  const client = await pool.connect();
  relay.hold();
  const error: unknown = await client.query(sql).catch((reason: unknown) => reason);
  client.release(true);
  return error;
}

test('a late response to a write is a failure that names the limit, for one minute', async () => {
  const error = await runLate(`INSERT INTO test_notes VALUES ('late')`);
  expect((error as Error).message).toBe(
    'Connection terminated: no response from PostgreSQL in 1.25 s',
  );
  expect(isUnavailable(error)).toBe(true);
  expect(pool.writeFailure).toBe(error);
  const nowMs = performance.now();
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs + MINUTE_MS - 1_000);
  expect(pool.writeFailure).toBe(error);
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs + MINUTE_MS + 1_000);
  expect(pool.writeFailure).toBeUndefined();
});

test('a late response to a read is no failure of writes', async () => {
  expect(isUnavailable(await runLate('SELECT FROM test_notes'))).toBe(true);
  expect(pool.writeFailure).toBeUndefined();
});

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

test.each<[string, object]>([
  ['', { keepAlive: true, keepAliveInitialDelayMillis: 30_000, application_name: 'pets' }],
  ['keepalives=1&keepalives_idle=20', { keepAlive: true, keepAliveInitialDelayMillis: 20_000 }],
  ['keepalives=0', { keepAlive: false }],
  ['connect_timeout=1', { connectionTimeoutMillis: 1_000 }],
  // The lower limit applies. Without a limit, that of the pool does.
  ['connect_timeout=10', { connectionTimeoutMillis: 2_000 }],
  ['connect_timeout=0', { connectionTimeoutMillis: 2_000 }],
  ['application_name=shop', { application_name: 'shop' }],
  ['channel_binding=disable', { enableChannelBinding: false }],
  ['channel_binding=prefer', { enableChannelBinding: true }],
  ['channel_binding=require', { enableChannelBinding: true, requiresChannelBinding: true }],
  ['target_session_attrs=read-write', { targetSession: 'read-write' }],
  ['target_session_attrs=primary', { targetSession: 'primary' }],
])('keeps the parameters of libpq for the session: %s', (parameters, expected) => {
  const { database } = new Settings(PRODUCT, { DATABASE_URL: `postgres://db/pets?${parameters}` });
  expect(connectionConfig(database.connection ?? {}, database)).toMatchObject(expected);
});
