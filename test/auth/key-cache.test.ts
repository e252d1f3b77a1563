import { hashKey } from '../../src/platform/access/key-format.js';
import { keyMakerOf } from '../harness/database/api-keys.js';
import { type ApiResponse, ApiClient, send } from '../harness/http/client.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { createKey, createOwner, type TestOwner } from '../harness/database/factories.js';
import {
  askUntil,
  inParallel,
  sequentially,
  rateLimitHeaders,
  limitsOf,
  MINUTE_MS,
  notifyChange,
  SECOND_MS,
} from '../harness/rate-limit/limits.js';
import { type Relay, startRelay } from '../harness/database/relay.js';
import { START_MS, startService, type TestService } from '../harness/service/service.js';

const ADDRESS_LIMIT = 1_000;
const UNREACHABLE_MS = 10 * MINUTE_MS;

let database: TestDatabase;
let relay: Relay;
let listening: Relay;
let service: TestService;

beforeAll(async () => {
  database = await createDatabase();
  [relay, listening] = [await startRelay(database.url), await startRelay(database.url)];
  service = await startService({
    database: { ...database, url: relay.url },
    env: {
      DATABASE_DIRECT_URL: listening.url,
      ANONYMOUS_REQUESTS_PER_MINUTE: String(ADDRESS_LIMIT),
    },
  });
});
afterAll(async () => {
  relay.restore();
  await service.close();
  await Promise.all([relay.close(), listening.close()]);
  await database.close();
});
afterEach(() => relay.restore());

/** A request that needs no query of the animals. */
function asks(key: string): () => Promise<ApiResponse> {
  const client = new ApiClient(service, key);
  return () => client.get('/v1/nothing');
}

/** The number of lookups of the key. Every lookup contains its hash. */
function lookUps(key: string): number {
  return relay.timesSent(Buffer.from(hashKey(key), 'hex'));
}

/** Resolves when the key has been looked up N times. Other requests let time pass. */
async function untilLookUps(key: string, times: number): Promise<void> {
  await askUntil(
    () => send(service, '/health/live'),
    () => lookUps(key) === times,
  );
}

async function addressRemaining(): Promise<number> {
  return limitsOf(await send(service, '/v1/nothing')).remaining;
}

describe('a valid key', () => {
  it('is looked up once for many requests', async () => {
    const { key } = await createOwner(database);
    await sequentially(5, asks(key));
    expect(lookUps(key)).toBe(1);
  });

  it('is looked up once for many requests at once', async () => {
    const { key } = await createOwner(database);
    const responses = await inParallel(20, asks(key));
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(404));
    expect(lookUps(key)).toBe(1);
  });

  it('is looked up again when it is stale, and not for every request', async () => {
    const { key } = await createOwner(database);
    const ask = asks(key);
    await ask();
    await service.advance(2 * SECOND_MS);
    await sequentially(3, ask);
    expect(lookUps(key)).toBe(1);
    await service.advance(3 * SECOND_MS);
    await sequentially(3, ask);
    expect(lookUps(key)).toBe(2);
  });

  it('is looked up in the background before it is stale, without a delay', async () => {
    const { key } = await createOwner(database);
    const ask = asks(key);
    await ask();
    await service.advance(3 * SECOND_MS);
    relay.hold();
    expect((await ask()).status).toBe(404);
    await untilLookUps(key, 2);
  });

  it('is not looked up again when a key of another owner changes', async () => {
    const [owner, other] = [await createOwner(database), await createOwner(database)];
    await asks(owner.key)();
    await asks(other.key)();
    await database.query('UPDATE owners SET limit_per_minute = 9 WHERE id = $1', [other.id]);
    await notifyChange(database, other.id);
    await askUntil(asks(other.key), (response) => limitsOf(response).limit === 9);
    await asks(owner.key)();
    expect(lookUps(owner.key)).toBe(1);
  });

  it('is looked up again if a change was notified during its lookup', async () => {
    const owner = await createOwner(database, { plan: 'free' });
    const ask = asks(owner.key);
    relay.hold();
    const found = relay.untilReceived(Buffer.from('free'));
    const first = ask();
    await found;
    expect(lookUps(owner.key)).toBe(1);
    const notified = listening.untilReceived(Buffer.from('key_changes'));
    await database.query(`UPDATE owners SET plan = 'pro' WHERE id = $1`, [owner.id]);
    await notifyChange(database, owner.id);
    await notified;
    // The response shows that the service has read the notification.
    await send(service, '/health/live');
    // Began after the change became known: the lookup in progress is not recent enough for it.
    const second = ask();
    await send(service, '/health/live');
    relay.restore();
    expect(limitsOf(await first).limit).toBe(60);
    expect(limitsOf(await second).limit).toBe(300);
    expect(limitsOf(await ask()).limit).toBe(300);
    expect(lookUps(owner.key)).toBe(2);
  });
});

describe('an invalid key', () => {
  it('is not cached when it does not exist, because it may be committed later', async () => {
    const key = (await keyMakerOf(database)).create();
    expect((await sequentially(3, asks(key))).status).toBe(401);
    expect(lookUps(key)).toBe(3);
  });

  it('is cached when it is revoked', async () => {
    const owner = await createOwner(database);
    const { key } = await createKey(database, owner.id, { revokedAtMs: START_MS });
    expect((await sequentially(3, asks(key))).status).toBe(401);
    expect(lookUps(key)).toBe(1);
  });
});

describe('without the database', () => {
  let owner: TestOwner;
  let revoked: string;

  beforeEach(async () => {
    owner = await createOwner(database, { limits: { perMinute: 100, perDay: 1_000 } });
    revoked = (await createKey(database, owner.id, { revokedAtMs: START_MS })).key;
    await asks(revoked)();
    await asks(owner.key)();
    relay.cut();
  });

  it.each([0, 3 * SECOND_MS, 5 * SECOND_MS, MINUTE_MS, UNREACHABLE_MS])(
    'a cached key stays valid after %i ms',
    async (ms) => {
      await service.advance(ms);
      const response = await asks(owner.key)();
      expect(response).toMatchObject({ status: 404, json: { code: 'route_not_found' } });
      expect(limitsOf(response).limit).toBe(100);
    },
  );

  it('a cached key gets 503 after more than ten minutes, until the database is available', async () => {
    await service.advance(UNREACHABLE_MS + 1);
    expect(await asks(owner.key)()).toMatchObject({
      status: 503,
      json: { code: 'service_unavailable' },
    });
    relay.restore();
    expect((await asks(owner.key)()).status).toBe(404);
  });

  it('GET /v1/pets › 503 with the owner’s limits for a cached key', async () => {
    const response = await new ApiClient(service, owner.key).get('/v1/pets');
    expect(response).toMatchObject({ status: 503, json: { code: 'service_unavailable' } });
    expect(limitsOf(response)).toMatchObject({ limit: 100, remaining: 98 });
  });

  it('a key that is not cached gets 503 with the limits of its address and is not counted', async () => {
    const remaining = await addressRemaining();
    const other = await createKey(database, owner.id);
    const ask = asks(other.key);
    const response = await sequentially(3, ask);
    expect(response).toMatchObject({
      status: 503,
      json: { code: 'service_unavailable', status: 503 },
    });
    expect(response.headers['www-authenticate']).toBeUndefined();
    expect(rateLimitHeaders(response)).toEqual({
      'x-ratelimit-limit': String(ADDRESS_LIMIT),
      'x-ratelimit-remaining': String(remaining),
      'x-ratelimit-reset': expect.any(String),
      'ratelimit-policy': `"minute";q=${ADDRESS_LIMIT};w=60`,
      ratelimit: expect.stringContaining(`"minute";r=${remaining};t=`),
      'retry-after': expect.stringMatching(/^[1-9]\d*$/),
    });
    relay.restore();
    expect(limitsOf(await ask()).remaining).toBe(98);
    expect(await addressRemaining()).toBe(remaining - 1);
  });

  it('a cached revoked key and a mistyped key still get 401', async () => {
    expect((await asks(revoked)()).status).toBe(401);
    expect((await asks('aas_mistyped')()).status).toBe(401);
  });

  it('a cached key expires', async () => {
    relay.restore();
    const expiresAtMs = service.nowMs() + 5 * SECOND_MS;
    const ask = asks((await createKey(database, owner.id, { expiresAtMs })).key);
    expect((await ask()).status).toBe(404);
    relay.cut();
    await service.setClock(expiresAtMs);
    expect((await ask()).status).toBe(401);
  });
});

it('with a database that does not respond, a cached key waits for one lookup and no further ones', async () => {
  const { key } = await createOwner(database);
  await asks(key)();
  await service.advance(MINUTE_MS);
  relay.hold();
  const startedAt = performance.now();
  expect((await asks(key)()).status).toBe(404);
  const firstMs = performance.now() - startedAt;
  expect((await asks(key)()).status).toBe(404);
  expect(performance.now() - startedAt - firstMs).toBeLessThan(firstMs);
});

it('404 for a cached key that is known to have changed, with its last known limits, while no query succeeds', async () => {
  const owner = await createOwner(database, { plan: 'free' });
  expect(limitsOf(await asks(owner.key)()).limit).toBe(60);
  relay.cut();
  const notified = listening.untilReceived(Buffer.from('key_changes'));
  await database.query(`UPDATE owners SET plan = 'pro' WHERE id = $1`, [owner.id]);
  await notifyChange(database, owner.id);
  await notified;
  // The response shows that the service has read the notification.
  await send(service, '/health/live');
  expect(limitsOf(await asks(owner.key)()).limit).toBe(60);
  relay.restore();
  await askUntil(asks(owner.key), (response) => limitsOf(response).limit === 300);
});

it('looks a cached key up again when the clock was set back', async () => {
  const { key } = await createOwner(database);
  await asks(key)();
  await service.advance(-1);
  await asks(key)();
  expect(lookUps(key)).toBe(2);
  await asks(key)();
  expect(lookUps(key)).toBe(2);
  await service.setClock(START_MS);
});

describe('a cache for three keys', () => {
  let small: TestService;

  beforeAll(async () => {
    small = await startService({
      database: { ...database, url: relay.url },
      env: { KEY_CACHE_SIZE: '3' },
    });
  });
  afterAll(() => small.close());

  it('evicts the least recently used one, and none before there are more than three', async () => {
    const keys: string[] = [];
    for (let count = 0; count < 4; count++) keys.push((await createOwner(database)).key);
    const [first, second, third, fourth] = keys as [string, string, string, string];
    const use = async (key: string): Promise<void> => {
      expect((await new ApiClient(small, key).get('/v1/nothing')).status).toBe(404);
    };
    for (const key of [first, second, third, first]) await use(key);
    expect([first, second, third].map(lookUps)).toEqual([1, 1, 1]);
    await use(fourth);
    for (const key of [first, third, fourth]) await use(key);
    expect([first, third, fourth].map(lookUps)).toEqual([1, 1, 1]);
    // The second one was evicted. Its return evicts the first one.
    await use(second);
    expect(lookUps(second)).toBe(2);
    for (const key of [third, fourth, second]) await use(key);
    expect([third, fourth, second].map(lookUps)).toEqual([1, 1, 2]);
    await use(first);
    expect(lookUps(first)).toBe(2);
  });
});
