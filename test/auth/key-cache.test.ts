import type { CachedKey } from '../../src/platform/access/cached-key.js';
import { KeyCache } from '../../src/platform/access/key-cache/key-cache.js';
import { hashKey } from '../../src/platform/access/key-format.js';
import { keyMakerOf } from '../harness/database/api-keys.js';
import { createKey, createOwner, type TestOwner } from '../harness/database/factories.js';
import { Relay } from '../harness/database/relay.js';
import { type ApiResponse, ApiClient } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { useStore } from '../harness/http/store.js';
import {
  askUntil,
  inParallel,
  limitsOf,
  MINUTE_MS,
  notifyChange,
  rateLimitHeaders,
  SECOND_MS,
  sequentially,
} from '../harness/rate-limit/limits.js';
import { START_MS } from '../harness/service/service.js';

const ADDRESS_LIMIT = 1_000;
const UNREACHABLE_MS = 10 * MINUTE_MS;
const CACHE_SIZE = 3;

let relay: Relay;
let listening: Relay;

const store = useStore(async (database) => {
  [relay, listening] = [await Relay.open(database.url), await Relay.open(database.url)];
  const env = {
    DATABASE_DIRECT_URL: listening.url,
    ANONYMOUS_REQUESTS_PER_MINUTE: String(ADDRESS_LIMIT),
    KEY_CACHE_SIZE: String(CACHE_SIZE),
  };
  return { database: { ...database, url: relay.url }, env };
});
afterEach(() => relay.restore());

/** A request that needs no query of the animals. */
function asks(key: string): () => Promise<ApiResponse> {
  const client = new ApiClient(store.service, key);
  return () => client.get('/v1/nothing');
}

/** The number of lookups of the key. Every lookup contains its hash. */
function lookUps(key: string): number {
  return relay.timesSent(Buffer.from(hashKey(key), 'hex'));
}

const live = (): Promise<ApiResponse> => store.anonymous.get('/health/live');

const addressRemaining = async (): Promise<number> =>
  limitsOf(await store.anonymous.get('/v1/nothing')).remaining;

/** Changes the plan of an owner, and returns after the service has read the notification. */
async function changePlan(owner: TestOwner, plan: string): Promise<void> {
  const notified = listening.untilReceived(Buffer.from('key_changes'));
  await store.query(
    'UPDATE owners SET plan = $2, limit_per_minute = NULL, limit_per_day = NULL WHERE id = $1',
    [owner.id, plan],
  );
  await notifyChange(store.database, owner.id);
  await notified;
  // The response shows that the service has read what came before.
  await live();
}

describe('a valid key', () => {
  it('is looked up once for many requests, at once or one after the other', async () => {
    const { key } = await createOwner(store.database);
    const responses = await inParallel(20, asks(key));
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(404));
    await sequentially(5, asks(key));
    expect(lookUps(key)).toBe(1);
  });

  it('is looked up again when it is stale, and not for every request', async () => {
    const { key } = await createOwner(store.database);
    const ask = asks(key);
    await ask();
    await store.service.advance(2 * SECOND_MS);
    await sequentially(3, ask);
    expect(lookUps(key)).toBe(1);
    await store.service.advance(3 * SECOND_MS);
    await sequentially(3, ask);
    expect(lookUps(key)).toBe(2);
  });

  it('is looked up in the background before it is stale, without a delay', async () => {
    const { key } = await createOwner(store.database);
    const ask = asks(key);
    await ask();
    await store.service.advance(3 * SECOND_MS);
    relay.hold();
    expect((await ask()).status).toBe(404);
    await askUntil(live, () => lookUps(key) === 2);
  });

  it('is looked up again when the clock was set back', async () => {
    const { key } = await createOwner(store.database);
    await asks(key)();
    await store.service.advance(-1);
    await sequentially(2, asks(key));
    expect(lookUps(key)).toBe(2);
    await store.service.setClock(START_MS);
  });

  it('is not looked up again when a key of another owner changes', async () => {
    const [owner, other] = [await createOwner(store.database), await createOwner(store.database)];
    await asks(owner.key)();
    await asks(other.key)();
    await changePlan(other, 'free');
    await asks(owner.key)();
    expect(limitsOf(await asks(other.key)()).limit).toBe(60);
    expect([owner, other].map(({ key }) => lookUps(key))).toEqual([1, 2]);
  });

  it.each([true, false])(
    'is looked up again if a change was notified during its lookup, with another request meanwhile: %s',
    async (isAskedMeanwhile) => {
      const owner = await createOwner(store.database, { plan: 'free' });
      const ask = asks(owner.key);
      relay.hold();
      const found = relay.untilReceived(Buffer.from('free'));
      const first = ask();
      await found;
      expect(lookUps(owner.key)).toBe(1);
      await changePlan(owner, 'pro');
      // Began after the change became known: the lookup in progress is not recent enough for it.
      const second = isAskedMeanwhile ? ask() : undefined;
      await live();
      await relay.restore();
      expect(limitsOf(await first).limit).toBe(60);
      if (second) expect(limitsOf(await second).limit).toBe(300);
      expect(limitsOf(await ask()).limit).toBe(300);
      expect(lookUps(owner.key)).toBe(2);
    },
  );

  it('is evicted as the least recently used one, not before there are more than fit', async () => {
    const keys: string[] = [];
    while (keys.length <= CACHE_SIZE) keys.push((await createOwner(store.database)).key);
    const [first, second, third, fourth] = keys as [string, string, string, string];
    const use = async (...used: string[]): Promise<number[]> => {
      for (const key of used) expect((await asks(key)()).status).toBe(404);
      return keys.map(lookUps);
    };
    expect(await use(first, second, third, first)).toEqual([1, 1, 1, 0]);
    expect(await use(fourth, first, third, fourth)).toEqual([1, 1, 1, 1]);
    // The second one was evicted. Its return evicts the first one.
    expect(await use(second, third, fourth, second)).toEqual([1, 2, 1, 1]);
    expect(await use(first)).toEqual([2, 2, 1, 1]);
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
  expect((await sequentially(3, asks(key))).status).toBe(401);
  expect(lookUps(key)).toBe(expected);
});

describe('without the database', () => {
  let owner: TestOwner;
  let revoked: string;

  beforeEach(async () => {
    owner = await createOwner(store.database, { limits: { perMinute: 100, perDay: 1_000 } });
    revoked = (await createKey(store.database, owner.id, { revokedAtMs: START_MS })).key;
    await asks(revoked)();
    await asks(owner.key)();
    await relay.cut();
  });

  it.each([0, 3 * SECOND_MS, 5 * SECOND_MS, MINUTE_MS, UNREACHABLE_MS])(
    'a cached key stays valid after %i ms',
    async (ms) => {
      await store.service.advance(ms);
      const response = await asks(owner.key)();
      expectError(response, 404, 'route_not_found');
      expect(limitsOf(response).limit).toBe(100);
    },
  );

  it('a cached key gets 503 after more than ten minutes, until the database is available', async () => {
    await store.service.advance(UNREACHABLE_MS + 1);
    expectError(await asks(owner.key)(), 503, 'service_unavailable');
    await relay.restore();
    expect((await asks(owner.key)()).status).toBe(404);
  });

  it('GET /v1/pets › 503 with the owner’s limits for a cached key', async () => {
    const response = await new ApiClient(store.service, owner.key).get('/v1/pets');
    expectError(response, 503, 'service_unavailable');
    expect(limitsOf(response)).toMatchObject({ limit: 100, remaining: 98 });
  });

  it('a key that is not cached gets 503 with the limits of its address and is not counted', async () => {
    const remaining = await addressRemaining();
    const ask = asks((await createKey(store.database, owner.id)).key);
    const response = await sequentially(3, ask);
    expectError(response, 503, 'service_unavailable');
    expect(response.headers['www-authenticate']).toBeUndefined();
    expect(rateLimitHeaders(response)).toEqual({
      'x-ratelimit-limit': String(ADDRESS_LIMIT),
      'x-ratelimit-remaining': String(remaining),
      'x-ratelimit-reset': expect.any(String),
      'ratelimit-policy': `"minute";q=${ADDRESS_LIMIT};w=60`,
      ratelimit: expect.stringContaining(`"minute";r=${remaining};t=`),
      'retry-after': expect.stringMatching(/^[1-9]\d*$/),
    });
    await relay.restore();
    expect(limitsOf(await ask()).remaining).toBe(98);
    expect(await addressRemaining()).toBe(remaining - 1);
  });

  it('a cached revoked key and a mistyped key still get 401', async () => {
    expect((await asks(revoked)()).status).toBe(401);
    expect((await asks('aas_mistyped')()).status).toBe(401);
  });

  it('a cached key expires', async () => {
    await relay.restore();
    const expiresAtMs = store.service.nowMs() + 5 * SECOND_MS;
    const ask = asks((await createKey(store.database, owner.id, { expiresAtMs })).key);
    expect((await ask()).status).toBe(404);
    await relay.cut();
    await store.service.setClock(expiresAtMs);
    expect((await ask()).status).toBe(401);
  });

  it('a cached key that is known to have changed keeps its last known limits', async () => {
    await changePlan(owner, 'pro');
    expect(limitsOf(await asks(owner.key)()).limit).toBe(100);
    await relay.restore();
    await askUntil(asks(owner.key), (response) => limitsOf(response).limit === 300);
  });
});

it('with a database that does not respond, a cached key waits for one lookup and no further ones', async () => {
  const { key } = await createOwner(store.database);
  await asks(key)();
  await store.service.advance(MINUTE_MS);
  relay.hold();
  const startedAt = performance.now();
  expect((await asks(key)()).status).toBe(404);
  const firstMs = performance.now() - startedAt;
  expect((await asks(key)()).status).toBe(404);
  expect(performance.now() - startedAt - firstMs).toBeLessThan(firstMs);
});

describe('a change of an owner', () => {
  const KEYS = 100_000;
  let queries: number;
  let cache: KeyCache;

  /** A cache with one key of each owner. */
  beforeAll(async () => {
    const findByHash = (hash: string): Promise<CachedKey> => {
      queries++;
      return Promise.resolve({ ownerId: BigInt(hash) } as CachedKey);
    };
    const settings = { bounds: { maxCachedKeys: KEYS } };
    const dependencies = [
      { findByHash },
      {},
      { now: () => START_MS, monotonicMs: () => START_MS },
      settings,
    ];
    cache = new KeyCache(...(dependencies as never as ConstructorParameters<typeof KeyCache>));
    for (let owner = 0; owner < KEYS; owner++) await cache.get(String(owner));
  });

  it('does not cost a pass over a cache of 100,000 API keys', () => {
    const before = process.cpuUsage();
    for (let owner = 0; owner < 5_000; owner++) cache.invalidate(BigInt(owner));
    const { user, system } = process.cpuUsage(before);
    expect(user + system).toBeLessThan(1_000_000);
  });

  it('makes each of its API keys stale until its lookup, whatever the number of changes', async () => {
    queries = 0;
    for (let owner = 0; owner < 5_000; owner++) cache.invalidate(BigInt(owner));
    for (const last of [5_000, 5_000, 5_001]) {
      for (let owner = 0; owner < last; owner++) await cache.get(String(owner));
    }
    expect(queries).toBe(5_000);
    cache.invalidate(5_000n);
    await cache.get('5000');
    cache.invalidate();
    await cache.get('5000');
    await cache.get('5000');
    expect(queries).toBe(5_002);
  });
});
