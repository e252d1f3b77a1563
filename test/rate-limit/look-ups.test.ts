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
      // Many requests at once have to reach the limits that are tested here.
      ...UNBOUNDED,
      // Thousands of requests keep a busy machine longer than a lookup may wait.
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
/** Requests of a client at an address that no other test uses. */
function newAddress(): Ask {
  const address = `198.51.100.${++addresses}`;
  return (key, path = '/v1/nothing') =>
    send(service, path, {
      headers: { 'X-Forwarded-For': address, ...(key && { Authorization: `Bearer ${key}` }) },
    });
}

/** A client at a new address whose budget is used up. */
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

/** How many of the keys were looked up: every lookup carries the key's hash. */
function lookedUp(keys: string[]): number {
  return keys.filter((key) => relay.timesSent(Buffer.from(hashKey(key), 'hex')) > 0).length;
}

describe('within its budget', () => {
  it('401 for every unknown key that an address sends, each looked up', async () => {
    const ask = newAddress();
    const keys = unknownKeys(LIMIT);
    for (const key of keys) expect((await ask(key)).status).toBe(401);
    expect(lookedUp(keys)).toBe(LIMIT);
  });
});

describe('many at once', () => {
  it('401 for as many unknown keys as the address has requests, 429 for the others, and a cached key is served as usual', async () => {
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

  it('404 for a valid key that is not in the cache, however many requests of an address send it', async () => {
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

  it('is the one that the 401 of an unknown key shows', async () => {
    const ask = newAddress();
    expect(limitsOf(await ask(generateKey())).remaining).toBe(LIMIT - 1);
    expect(await remaining(ask)).toBe(LIMIT - 2);
  });

  it('is given back when the key is valid, and the owner is charged', async () => {
    const ask = newAddress();
    const { key } = await createOwner(database, { limits: { perMinute: 7, perDay: 70 } });
    expect(limitsOf(await ask(key))).toMatchObject({ limit: 7, remaining: 6 });
    expect(await remaining(ask)).toBe(LIMIT - 1);
  });

  it('begins no window when it is given back', async () => {
    const ask = newAddress();
    const { key } = await createOwner(database);
    await ask(key);
    await service.advance(7 * SECOND_MS);
    expect((await ask()).headers['ratelimit']).toBe(`"minute";r=${LIMIT - 1};t=60`);
  });

  it('is given back on a @SkipThrottle() route', async () => {
    const ask = newAddress();
    const response = await ask(generateKey(), '/v1/plain/skipped');
    expect(response.status).toBe(401);
    expect(limitsOf(response).remaining).toBe(LIMIT);
    expect(await remaining(ask)).toBe(LIMIT - 1);
  });
});

describe('over its budget', () => {
  it('429 for every unknown key that an address sends, ten a second looked up', async () => {
    const ask = await newAddressOverLimit();
    const keys = unknownKeys(3 * LOOKUPS_PER_SECOND);
    for (const key of keys) {
      expect(await ask(key)).toMatchObject({ status: 429, json: { code: 'rate_limit_exceeded' } });
    }
    expect(lookedUp(keys)).toBe(LOOKUPS_PER_SECOND);
  });

  it('429 for every one of them at once, too', async () => {
    const ask = await newAddressOverLimit();
    const keys = unknownKeys(3 * LOOKUPS_PER_SECOND);
    const responses = await Promise.all(keys.map((key) => ask(key)));
    expect(responses.map(({ status }) => status)).toEqual(keys.map(() => 429));
    expect(lookedUp(keys)).toBe(LOOKUPS_PER_SECOND);
  });

  it('the second is a fixed one, from the first lookup on', async () => {
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

  it('429 tells the budget of the address', async () => {
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

  it('mistyped keys use up no lookups', async () => {
    const ask = await newAddressOverLimit();
    for (let time = 0; time < LOOKUPS_PER_SECOND; time++) await ask('aas_mistyped');
    const { key } = await createOwner(database);
    expect((await ask(key)).status).toBe(404);
  });

  it('a valid key that is not in the cache passes within the ten', async () => {
    const ask = await newAddressOverLimit();
    for (const key of unknownKeys(LOOKUPS_PER_SECOND - 1)) await ask(key);
    const { key } = await createOwner(database, { limits: { perMinute: 7, perDay: 70 } });
    const response = await ask(key);
    expect(response.status).toBe(404);
    expect(limitsOf(response)).toMatchObject({ limit: 7, remaining: 6 });
  });

  it('429 for one beyond the ten, until the second is over; it is counted for no owner', async () => {
    const ask = await newAddressOverLimit();
    for (const key of unknownKeys(LOOKUPS_PER_SECOND)) await ask(key);
    const { key } = await createOwner(database, { limits: { perMinute: 7, perDay: 70 } });
    const rejected = await ask(key);
    expect(rejected).toMatchObject({ status: 429, json: { code: 'rate_limit_exceeded' } });
    expect(limitsOf(rejected).limit).toBe(LIMIT);
    await service.advance(SECOND_MS);
    expect(limitsOf(await ask(key))).toMatchObject({ limit: 7, remaining: 6 });
  });

  it('429 on a @SkipThrottle() route too: a key that was not looked for is not told to be invalid', async () => {
    const ask = await newAddressOverLimit();
    for (const key of unknownKeys(LOOKUPS_PER_SECOND)) await ask(key);
    const { key } = await createOwner(database);
    expect((await ask(key, '/v1/plain/skipped')).status).toBe(429);
  });

  it('a known valid key always passes, also when it has to be looked up again', async () => {
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

  it('other addresses have lookups of their own', async () => {
    const ask = await newAddressOverLimit();
    for (const key of unknownKeys(LOOKUPS_PER_SECOND)) await ask(key);
    const { key } = await createOwner(database);
    expect((await newAddress()(key)).status).toBe(404);
  });

  it('an unknown key that was looked up is no more known than before', async () => {
    const ask = await newAddressOverLimit();
    const key = generateKey();
    await sequentially(2 * LOOKUPS_PER_SECOND, () => ask(key));
    expect(relay.timesSent(Buffer.from(hashKey(key), 'hex'))).toBe(LOOKUPS_PER_SECOND);
  });
});

test('a client that has gone before its key was looked up is counted all the same', async () => {
  // Not behind the proxy: then nothing but its connection tells its address.
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
