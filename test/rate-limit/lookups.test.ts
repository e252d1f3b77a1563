import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { generateKey, hashKey } from '../../src/auth/key-format.js';
import { type ApiResponse, send } from '../harness/http/client.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { holdTable } from '../harness/database/database-lock.js';
import { createOwner } from '../harness/database/factories.js';
import {
  inParallel,
  sequentially,
  rateLimitHeaders,
  limitsOf,
  SECOND_MS,
} from '../harness/rate-limit/limits.js';
import { RawConnection } from '../harness/http/raw-connection.js';
import { type Relay, startRelay } from '../harness/database/relay.js';
import { startService, type TestService, UNBOUNDED } from '../harness/service/service.js';

const LIMIT = 20;
const LOOKUPS_PER_SECOND = 10;

let database: TestDatabase;
let relay: Relay;
let service: TestService;

beforeAll(async () => {
  database = await createDatabase();
  relay = await startRelay(database.url);
  service = await startService({
    database: { ...database, url: relay.url },
    env: {
      ANONYMOUS_REQUESTS_PER_MINUTE: String(LIMIT),
      TRUST_PROXY: '1',
      // The parallel requests of these tests must reach the rate limits.
      ...UNBOUNDED,
      // With thousands of requests, lookups take longer than the default timeouts.
      DATABASE_POOL_WAIT_SECONDS: '20',
      DATABASE_STATEMENT_TIMEOUT_SECONDS: '20',
    },
    features: join(__dirname, '../harness/features/uncounted-routes.mjs'),
  });
});
afterAll(async () => {
  await service.close();
  await relay.close();
  await database.close();
});

type Ask = (key?: string, path?: string) => Promise<ApiResponse>;

let addresses = 0;
/** Sends requests from an address that no other test uses. */
function newAddress(): Ask {
  const address = `198.51.100.${++addresses}`;
  return (key, path = '/v1/nothing') =>
    send(service, path, {
      headers: { 'X-Forwarded-For': address, ...(key && { Authorization: `Bearer ${key}` }) },
    });
}

/** Sends requests from a new address that is over its limit. */
async function newAddressOverLimit(): Promise<Ask> {
  const ask = newAddress();
  await sequentially(LIMIT, () => ask());
  return ask;
}

function unknownKeys(count: number): string[] {
  return Array.from({ length: count }, generateKey);
}

function countByStatus(responses: ApiResponse[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Returns how many of the keys were looked up: every lookup contains the hash of the key. */
function lookedUp(keys: string[]): number {
  return keys.filter((key) => relay.timesSent(Buffer.from(hashKey(key), 'hex')) > 0).length;
}

describe('within its budget', () => {
  it('401 for every unknown key, each with a lookup', async () => {
    const ask = newAddress();
    const keys = unknownKeys(LIMIT);
    for (const key of keys) expect((await ask(key)).status).toBe(401);
    expect(lookedUp(keys)).toBe(LIMIT);
  });
});

describe('parallel requests', () => {
  it('401 for unknown keys up to the limit of the address, 429 for the others, and cached keys are unaffected', async () => {
    const { key } = await createOwner(database, { limits: { perMinute: 1_000, perDay: 1_000 } });
    const ask = newAddress();
    expect((await ask(key)).status).toBe(404);
    const keys = unknownKeys(3_000);
    const responses = keys.map((unknown) => ask(unknown));
    const known = await inParallel(20, () => ask(key));
    expect(known.map(({ status }) => status)).toEqual(known.map(() => 404));
    expect(countByStatus(await Promise.all(responses))).toEqual({ 401: LIMIT, 429: 3_000 - LIMIT });
    expect(lookedUp(keys)).toBe(LIMIT + LOOKUPS_PER_SECOND);
    expect(limitsOf(await ask(key)).remaining).toBe(1_000 - 22);
  });

  it('404 for every request with the same valid key that is not in the cache', async () => {
    const { key } = await createOwner(database, { limits: { perMinute: 1_000, perDay: 1_000 } });
    const ask = newAddress();
    const responses = await inParallel(5 * LIMIT, () => ask(key));
    expect(countByStatus(responses)).toEqual({ 404: 5 * LIMIT });
    expect(relay.timesSent(Buffer.from(hashKey(key), 'hex'))).toBe(1);
    expect(limitsOf(await ask()).remaining).toBe(LIMIT - 1);
  });
});

describe('the request that is counted before the lookup', () => {
  const remaining = async (ask: Ask): Promise<number> => limitsOf(await ask()).remaining;

  it('is included in the headers of the 401', async () => {
    const ask = newAddress();
    expect(limitsOf(await ask(generateKey())).remaining).toBe(LIMIT - 1);
    expect(await remaining(ask)).toBe(LIMIT - 2);
  });

  it('is refunded when the key is valid, and counted for the owner', async () => {
    const ask = newAddress();
    const { key } = await createOwner(database, { limits: { perMinute: 7, perDay: 70 } });
    expect(limitsOf(await ask(key))).toMatchObject({ limit: 7, remaining: 6 });
    expect(await remaining(ask)).toBe(LIMIT - 1);
  });

  it('starts no window when it is refunded', async () => {
    const ask = newAddress();
    const { key } = await createOwner(database);
    await ask(key);
    await service.advance(7 * SECOND_MS);
    expect((await ask()).headers['ratelimit']).toBe(`"minute";r=${LIMIT - 1};t=60`);
  });

  it('is refunded on a @SkipThrottle() route', async () => {
    const ask = newAddress();
    const response = await ask(generateKey(), '/v1/plain/skipped');
    expect(response.status).toBe(401);
    expect(limitsOf(response).remaining).toBe(LIMIT);
    expect(await remaining(ask)).toBe(LIMIT - 1);
  });
});

describe('over its budget', () => {
  it('429 for every unknown key, with ten lookups per second', async () => {
    const ask = await newAddressOverLimit();
    const keys = unknownKeys(3 * LOOKUPS_PER_SECOND);
    for (const key of keys) {
      expect(await ask(key)).toMatchObject({ status: 429, json: { code: 'rate_limit_exceeded' } });
    }
    expect(lookedUp(keys)).toBe(LOOKUPS_PER_SECOND);
  });

  it('429 for every one of parallel requests, with ten lookups', async () => {
    const ask = await newAddressOverLimit();
    const keys = unknownKeys(3 * LOOKUPS_PER_SECOND);
    const responses = await Promise.all(keys.map((key) => ask(key)));
    expect(responses.map(({ status }) => status)).toEqual(keys.map(() => 429));
    expect(lookedUp(keys)).toBe(LOOKUPS_PER_SECOND);
  });

  it('the second is a fixed window that starts with the first lookup', async () => {
    const ask = await newAddressOverLimit();
    await ask(generateKey());
    await service.advance(SECOND_MS - 1);
    const keys = unknownKeys(LOOKUPS_PER_SECOND);
    for (const key of keys) await ask(key);
    expect(lookedUp(keys)).toBe(LOOKUPS_PER_SECOND - 1);
    await service.advance(1);
    const next = unknownKeys(LOOKUPS_PER_SECOND + 1);
    for (const key of next) await ask(key);
    expect(lookedUp(next)).toBe(LOOKUPS_PER_SECOND);
  });

  it('429 with the headers of the address', async () => {
    const ask = await newAddressOverLimit();
    for (const key of unknownKeys(LOOKUPS_PER_SECOND)) await ask(key);
    const [rejected, keyless] = [await ask(generateKey()), await ask()];
    expect(rejected.text).toBe(keyless.text);
    expect(rateLimitHeaders(rejected)).toEqual(rateLimitHeaders(keyless));
    expect(rateLimitHeaders(rejected)).toMatchObject({
      'x-ratelimit-limit': String(LIMIT),
      'x-ratelimit-remaining': '0',
      ratelimit: '"minute";r=0;t=60',
      'retry-after': '60',
    });
  });

  it('mistyped keys cause no lookups', async () => {
    const ask = await newAddressOverLimit();
    for (let time = 0; time < LOOKUPS_PER_SECOND; time++) await ask('aas_mistyped');
    const { key } = await createOwner(database);
    expect((await ask(key)).status).toBe(404);
  });

  it('a valid key that is not in the cache is allowed within the ten lookups', async () => {
    const ask = await newAddressOverLimit();
    for (const key of unknownKeys(LOOKUPS_PER_SECOND - 1)) await ask(key);
    const { key } = await createOwner(database, { limits: { perMinute: 7, perDay: 70 } });
    const response = await ask(key);
    expect(response.status).toBe(404);
    expect(limitsOf(response)).toMatchObject({ limit: 7, remaining: 6 });
  });

  it('429 for a valid key over the ten lookups until the second ends, counted for no owner', async () => {
    const ask = await newAddressOverLimit();
    for (const key of unknownKeys(LOOKUPS_PER_SECOND)) await ask(key);
    const { key } = await createOwner(database, { limits: { perMinute: 7, perDay: 70 } });
    const rejected = await ask(key);
    expect(rejected).toMatchObject({ status: 429, json: { code: 'rate_limit_exceeded' } });
    expect(limitsOf(rejected).limit).toBe(LIMIT);
    await service.advance(SECOND_MS);
    expect(limitsOf(await ask(key))).toMatchObject({ limit: 7, remaining: 6 });
  });

  it('429 on a @SkipThrottle() route too, because a key without a lookup may be valid', async () => {
    const ask = await newAddressOverLimit();
    for (const key of unknownKeys(LOOKUPS_PER_SECOND)) await ask(key);
    const { key } = await createOwner(database);
    expect((await ask(key, '/v1/plain/skipped')).status).toBe(429);
  });

  it('a cached valid key is always allowed, even when it needs another lookup', async () => {
    const { key } = await createOwner(database);
    await newAddress()(key);
    const ask = await newAddressOverLimit();
    for (const unknown of unknownKeys(LOOKUPS_PER_SECOND)) await ask(unknown);
    expect((await ask(key)).status).toBe(404);
    await service.advance(10 * SECOND_MS);
    for (const unknown of unknownKeys(LOOKUPS_PER_SECOND)) await ask(unknown);
    const responses = await inParallel(2 * LOOKUPS_PER_SECOND, () => ask(key));
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 404));
  });

  it('each address has its own lookups', async () => {
    const ask = await newAddressOverLimit();
    for (const key of unknownKeys(LOOKUPS_PER_SECOND)) await ask(key);
    const { key } = await createOwner(database);
    expect((await newAddress()(key)).status).toBe(404);
  });

  it('an unknown key is not cached', async () => {
    const ask = await newAddressOverLimit();
    const key = generateKey();
    await sequentially(2 * LOOKUPS_PER_SECOND, () => ask(key));
    expect(relay.timesSent(Buffer.from(hashKey(key), 'hex'))).toBe(LOOKUPS_PER_SECOND);
  });
});

test('a request is counted even if its client disconnects during the lookup', async () => {
  // Without X-Forwarded-For, the address comes from the connection only.
  const remaining = async (): Promise<number> =>
    limitsOf(await send(service, '/v1/nothing')).remaining;
  const before = await remaining();
  const lock = await holdTable(database, 'api_keys', 'ACCESS EXCLUSIVE');
  const connection = await RawConnection.open(
    service,
    `GET /v1/nothing HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer ${generateKey()}\r\n\r\n`,
  );
  await lock.waitedFor();
  connection.socket.resetAndDestroy();
  await delay(100);
  await lock.release();
  await delay(100);

  expect(await remaining()).toBe(before - 2);
});
