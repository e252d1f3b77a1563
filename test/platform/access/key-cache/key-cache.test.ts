import { hashKey } from '../../../../src/platform/access/key-format.js';
import { keyMakerOf } from '../../../harness/database/api-keys.js';
import { createKey, createOwner, type TestOwner } from '../../../harness/database/factories.js';
import { Relay } from '../../../harness/database/relay.js';
import type { ApiResponse } from '../../../harness/http/client.js';
import { expectError } from '../../../harness/http/error-response.js';
import { useStore } from '../../../harness/http/store.js';
import {
  DAY_MS,
  inParallel,
  limitsOf,
  MINUTE_MS,
  SECOND_MS,
  sequentially,
} from '../../../harness/rate-limit/limits.js';
import { START_MS } from '../../../harness/service/service.js';

const ADDRESS_LIMIT = 1_000;
const UNREACHABLE_MS = 10 * MINUTE_MS;
const HOUR_MS = 60 * MINUTE_MS;
const CACHE_SIZE = 3;

let relay: Relay;

const store = useStore(async (database) => {
  relay = await Relay.open(database.url);
  const env = {
    ANONYMOUS_REQUESTS_PER_MINUTE: String(ADDRESS_LIMIT),
    KEY_CACHE_SIZE: String(CACHE_SIZE),
    BAN_AFTER_REJECTIONS: '2',
    BAN_SECONDS: '3600',
    // A lookup without a response takes this long. Others are withheld for a shorter time.
    DATABASE_STATEMENT_TIMEOUT_SECONDS: '5',
  };
  return { database: { ...database, url: relay.url }, env };
});
afterEach(() => relay.restore());

/** The number of lookups of the key. Every lookup contains its hash. */
function lookUps(key: string): number {
  return relay.timesSent(Buffer.from(hashKey(key)));
}

const live = (): Promise<ApiResponse> => store.anonymous.get('/health/live');

/** Sends a request of a new owner whose lookup does not end until `relay.restore()`. */
async function startSlowLookup() {
  const owner = await createOwner(store.database, { plan: 'free' });
  const ask = store.asks(owner.key);
  relay.hold();
  const found = relay.untilReceived(Buffer.from('free'));
  const first = ask();
  await found;
  return { owner, ask, first: { response: first } };
}

const isInvalid = ({ status }: ApiResponse): boolean => status === 401;
const KEY = 'WHERE owner_id = $1 AND id = $2';
const PLAN = `UPDATE owners SET plan = 'pro', limit_per_minute = NULL, limit_per_day = NULL
               WHERE id = $1 AND $2 > 0`;

describe('GET /v1/nothing within five seconds after a change, for every key of the owner', () => {
  test.each<[string, string, (response: ApiResponse) => boolean]>([
    ['a revocation', `UPDATE api_keys SET revoked_at = now() ${KEY}`, isInvalid],
    [
      'an expiry',
      `UPDATE api_keys SET expires_at = '${new Date(START_MS).toISOString()}' ${KEY}`,
      isInvalid,
    ],
    ['another plan', PLAN, (response) => limitsOf(response).limit === 300],
    [
      'an unban',
      `UPDATE api_keys SET unban_count = unban_count + 1 ${KEY}`,
      ({ json }) => json.code !== 'api_key_banned',
    ],
  ])('%s', async (title, sql, holds) => {
    const owner = await createOwner(store.database, { limits: { perMinute: 20, perDay: 1e6 } });
    const ask = store.asks(owner.key);
    expect(holds(await sequentially(title === 'an unban' ? 24 : 2, ask))).toBe(false);
    await store.query(sql, [owner.id, owner.keyId]);
    // Not even if the last lookup was two seconds ago.
    await store.service.advance(2 * SECOND_MS);
    expect(holds(await ask())).toBe(false);
    await store.service.advance(3 * SECOND_MS);
    expect(holds(await ask())).toBe(true);
  });

  test('a change after a slow lookup, which is as old as its start', async () => {
    const { owner, ask, first } = await startSlowLookup();
    await store.service.advance(3 * SECOND_MS);
    await relay.restore();
    expect(limitsOf(await first.response).limit).toBe(60);
    await store.query(PLAN, [owner.id, owner.keyId]);
    await store.service.advance(2 * SECOND_MS);
    expect(limitsOf(await ask()).limit).toBe(300);
  });

  test('a change during a lookup in progress that began five seconds ago', async () => {
    const { owner, ask, first } = await startSlowLookup();
    await store.query(PLAN, [owner.id, owner.keyId]);
    await store.service.advance(5 * SECOND_MS);
    const second = ask();
    while (lookUps(owner.key) < 2) await live();
    await relay.restore();
    expect(limitsOf(await first.response).limit).toBe(60);
    expect(limitsOf(await second).limit).toBe(300);
    expect(limitsOf(await ask()).limit).toBe(300);
    expect(lookUps(owner.key)).toBe(2);
  });
});

describe('a valid key', () => {
  it('is looked up once for many requests, at once or one after the other', async () => {
    const { key } = await createOwner(store.database);
    const responses = await inParallel(20, store.asks(key));
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(404));
    await sequentially(5, store.asks(key));
    expect(lookUps(key)).toBe(1);
  });

  it.each([
    [2 * SECOND_MS, 1],
    [5 * SECOND_MS, 2],
    [-HOUR_MS, 1],
  ])('after %i ms of the clock, requests make %i lookups in total', async (ms, expected) => {
    const { key } = await createOwner(store.database);
    await store.asks(key)();
    await store.service.advance(ms);
    await sequentially(3, store.asks(key));
    expect(lookUps(key)).toBe(expected);
  });

  it('is evicted as the one that was looked up first, not before there are more than fit', async () => {
    const keys: string[] = [];
    while (keys.length <= CACHE_SIZE) keys.push((await createOwner(store.database)).key);
    const [first, second, third, fourth] = keys as [string, string, string, string];
    const use = async (...used: string[]): Promise<number[]> => {
      for (const key of used) expect((await store.asks(key)()).status).toBe(404);
      return keys.map(lookUps);
    };
    expect(await use(first, second, third, first)).toEqual([1, 1, 1, 0]);
    expect(await use(fourth, second, third, fourth)).toEqual([1, 1, 1, 1]);
    // The first one was evicted. Its return evicts the second one.
    expect(await use(first, third, fourth, first)).toEqual([2, 1, 1, 1]);
    // After four seconds, a use looks the third one up again, so that the fourth one is evicted next.
    await store.service.advance(5 * SECOND_MS);
    expect(await use(third, second, third)).toEqual([2, 2, 2, 1]);
    expect(await use(fourth)).toEqual([2, 2, 2, 2]);
  });

  it('is valid until the millisecond of its expiry, also after a rotation with an overlap', async () => {
    const { id, keyId } = await createOwner(store.database, {
      limits: { perMinute: 100, perDay: 100 },
    });
    const expiresAtMs = store.service.nowMs() + DAY_MS;
    const old = store.asks((await createKey(store.database, id, { expiresAtMs })).key);
    const successor = store.asks((await createKey(store.database, id, { firstKeyId: keyId })).key);
    expect(limitsOf(await old()).remaining).toBe(99);
    expect(limitsOf(await successor()).remaining).toBe(98);
    await store.service.setClock(expiresAtMs - 1);
    expect((await old()).status).toBe(404);
    await store.service.setClock(expiresAtMs);
    expectError(await old(), 401, 'invalid_api_key');
    expect((await successor()).status).toBe(404);
  });
});

it.each([
  ['is not cached when it does not exist, because it may be committed later', 3],
  ['is cached when it is revoked', 1],
])('an invalid key %s', async (_, expected) => {
  const key =
    expected === 1
      ? (await createKey(store.database, store.owner.id, { revokedAtMs: START_MS })).key
      : (await keyMakerOf(store.database)).create();
  expect((await sequentially(3, store.asks(key))).status).toBe(401);
  expect(lookUps(key)).toBe(expected);
});

describe('without the database', () => {
  let owner: TestOwner;
  let revoked: string;

  beforeEach(async () => {
    owner = await createOwner(store.database, { limits: { perMinute: 100, perDay: 1_000 } });
    revoked = (await createKey(store.database, owner.id, { revokedAtMs: START_MS })).key;
    await store.asks(revoked)();
    await store.asks(owner.key)();
    await relay.cut();
  });

  it.each([0, 3 * SECOND_MS, 5 * SECOND_MS, UNREACHABLE_MS])(
    'a cached key stays valid after %i ms',
    async (ms) => {
      await store.service.advance(ms);
      const response = await store.asks(owner.key)();
      expectError(response, 404, 'route_not_found');
      expect(limitsOf(response).limit).toBe(100);
    },
  );

  it('a change takes effect within five seconds after the database is available again', async () => {
    await store.service.advance(5 * SECOND_MS);
    expect((await store.asks(owner.key)()).status).toBe(404);
    await relay.restore();
    await store.query(`UPDATE api_keys SET revoked_at = now() ${KEY}`, [owner.id, owner.keyId]);
    await store.service.advance(5 * SECOND_MS);
    expectError(await store.asks(owner.key)(), 401, 'invalid_api_key');
  });

  it.each([0, -HOUR_MS])(
    'a cached key gets 503 after more than ten minutes, with the clock set by %i ms, until the database is available',
    async (ms) => {
      await store.service.advance(ms);
      await store.service.advance(UNREACHABLE_MS + 1);
      expectError(await store.asks(owner.key)(), 503, 'service_unavailable');
      await relay.restore();
      expect((await store.asks(owner.key)()).status).toBe(404);
    },
  );
});

it.each([
  ['of the same key', 404],
  ['of a key that is not cached', 503],
])(
  'with a database that does not respond, a cached key does not wait after one lookup has failed: %s',
  async (_title, status) => {
    const { key } = await createOwner(store.database);
    const other = await createOwner(store.database);
    await store.asks(key)();
    await store.service.advance(MINUTE_MS);
    relay.hold();
    const startedAt = performance.now();
    expect((await store.asks(status === 404 ? key : other.key)()).status).toBe(status);
    const firstMs = performance.now() - startedAt;
    // The probe of the database that the failure has started.
    expect((await store.anonymous.get('/health/ready')).status).toBe(503);
    await store.service.advance(2 * SECOND_MS);
    const nextAt = performance.now();
    expect((await store.asks(key)()).status).toBe(404);
    expect(performance.now() - nextAt).toBeLessThan(firstMs);
  },
);
