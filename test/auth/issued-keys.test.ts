import { join } from 'node:path';
import { earlierKey, keyMakerOf, unknownKey } from '../harness/database/api-keys.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { createKey, createOwner, type TestOwner } from '../harness/database/factories.js';
import { type Relay, startRelay } from '../harness/database/relay.js';
import { ApiClient, type ApiResponse, send } from '../harness/http/client.js';
import {
  askUntil,
  limitsOf,
  notifyChange,
  rateLimitHeaders,
  sequentially,
} from '../harness/rate-limit/limits.js';
import { metric } from '../harness/service/metrics.js';
import {
  type BuiltService,
  spawnBuiltService,
  startBuiltService,
  startService,
  type TestService,
} from '../harness/service/service.js';

const LIMIT = 20;
/** Every lookup of an API key contains this text. */
const LOOKUP = Buffer.from('WHERE key.hash = $1');

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.close());

function replaceLast(key: string): string {
  return key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a');
}

/** API keys that the store did not issue. */
const madeUp: [string, () => Promise<string>][] = [
  ['of another store', () => Promise.resolve(unknownKey())],
  ['with a CRC-32, as earlier releases issued them', () => Promise.resolve(earlierKey())],
  ['with a mistyped end', async () => replaceLast((await createOwner(database)).key)],
  ['that is malformed', () => Promise.resolve('aas_malformed')],
];

describe('an API key that the store did not issue', () => {
  let relay: Relay;
  let service: BuiltService;
  beforeAll(async () => {
    relay = await startRelay(database.url);
    service = await startBuiltService({
      DATABASE_URL: relay.url,
      ANONYMOUS_REQUESTS_PER_MINUTE: String(LIMIT),
      METRICS_PORT: '0',
      TRUST_PROXY: '1',
    });
  });
  afterAll(async () => {
    await service.stop();
    await relay.close();
  });

  let addresses = 0;
  function newAddress(): (key?: string) => Promise<ApiResponse> {
    const address = `198.51.100.${++addresses}`;
    return (key) =>
      send(service, '/v1/nothing', {
        headers: { 'X-Forwarded-For': address, ...(key && { Authorization: `Bearer ${key}` }) },
      });
  }

  test.each(madeUp)(
    'GET /v1/nothing › the same 401 for a key %s, without a query',
    async (_, create) => {
      const keys: string[] = [];
      while (keys.length < LIMIT) keys.push(await create());
      const ask = newAddress();
      const malformed = await newAddress()('x');
      const queries = await metric(service, 'pets_key_lookups_total{source="database"}');
      const sent = relay.timesSent(LOOKUP);
      for (const [index, key] of keys.entries()) {
        const response = await ask(key);
        expect([response.status, response.text]).toEqual([401, malformed.text]);
        expect(response.headers['www-authenticate']).toBe(malformed.headers['www-authenticate']);
        expect(Object.keys(response.headers)).toEqual(Object.keys(malformed.headers));
        expect(limitsOf(response).remaining).toBe(LIMIT - 1 - index);
      }
      expect((await ask(keys[0])).status).toBe(429);
      expect(await metric(service, 'pets_key_lookups_total{source="database"}')).toBe(queries);
      expect(relay.timesSent(LOOKUP)).toBe(sent);
    },
  );

  test('GET /v1/nothing › 404 for every valid key, cached or not, from an address over its limit', async () => {
    const ask = newAddress();
    await sequentially(LIMIT + 1, () => ask(unknownKey()));
    expect((await ask()).status).toBe(429);
    const sent = relay.timesSent(LOOKUP);
    const owners: TestOwner[] = [];
    while (owners.length < LIMIT) owners.push(await createOwner(database));
    const responses = await Promise.all(
      [...owners, ...owners, ...owners].map(({ key }) => ask(key)),
    );
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 404));
    expect(relay.timesSent(LOOKUP) - sent).toBeGreaterThan(0);
    expect((await ask()).status).toBe(429);
  });

  test('GET /v1/nothing › 404 for a valid key, counted for its owner and not for its address', async () => {
    const ask = newAddress();
    const { key } = await createOwner(database, { limits: { perMinute: 7, perDay: 70 } });
    expect(limitsOf(await ask(key))).toMatchObject({ limit: 7, remaining: 6 });
    expect(limitsOf(await ask()).remaining).toBe(LIMIT - 1);
  });
});

describe('an API key that an earlier release issued', () => {
  let service: TestService;
  const ask = (key: string) => () => new ApiClient(service, key).get('/v1/nothing');

  test('GET /v1/nothing › 404 when it was issued before the start', async () => {
    const owner = await createOwner(database);
    const { key } = await createKey(database, owner.id, { isEarlier: true });
    service = await startService({ database });
    try {
      expect((await ask(key)()).status).toBe(404);
    } finally {
      await service.close();
    }
  });

  describe('while the service runs', () => {
    beforeAll(async () => {
      service = await startService({ database });
    });
    afterAll(() => service.close());

    test.each<[string, (ownerId: string) => string]>([
      ['its owner', (ownerId) => ownerId],
      ['an unknown change', () => ''],
    ])('GET /v1/nothing › 404 after a notification of %s', async (_, payload) => {
      const owner = await createOwner(database);
      const { key } = await createKey(database, owner.id, { isEarlier: true });
      expect((await ask(key)()).status).toBe(401);
      await notifyChange(database, payload(owner.id));
      await askUntil(ask(key), ({ status }) => status === 404);
    });

    test('GET /v1/nothing › 404 after the service listens again', async () => {
      const owner = await createOwner(database);
      const { key } = await createKey(database, owner.id, { isEarlier: true });
      await database.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'pets key changes'`,
      );
      await askUntil(ask(key), ({ status }) => status === 404);
    });
  });
});

test('GET › 503 for a valid key that is not cached, 200 on a @Public() route, both counted nowhere, and 401 for a made-up key, when the database is unreachable', async () => {
  const relay = await startRelay(database.url);
  const service = await startService({
    database: { ...database, url: relay.url },
    features: join(__dirname, '../harness/features/uncounted-routes.mjs'),
  });
  const key = (await keyMakerOf(database)).create();
  relay.cut();
  try {
    const before = await new ApiClient(service, unknownKey()).get('/v1/nothing');
    expect(before.status).toBe(401);
    const response = await new ApiClient(service, key).get('/v1/nothing');
    expect(response.status).toBe(503);
    const open = await new ApiClient(service, key).get('/v1/plain/open');
    expect(open.status).toBe(200);
    expect(rateLimitHeaders(open)).toEqual(rateLimitHeaders(before));
    expect(rateLimitHeaders(response)).toMatchObject(
      Object.fromEntries(
        Object.entries(rateLimitHeaders(before)).filter(([name]) => name !== 'retry-after'),
      ),
    );
  } finally {
    relay.restore();
    await service.close();
    await relay.close();
  }
});

test.each<[string, string, RegExp]>([
  ['the secret is missing', 'DELETE FROM key_secret', /key_secret is empty/],
  ['the schema is of an earlier release', 'DROP TABLE key_secret', /key_secret/],
])('the service does not start when %s', async (_, sql, message) => {
  const own = await createDatabase();
  try {
    await own.query(sql);
    const service = spawnBuiltService({ DATABASE_URL: own.url });
    const { code } = await new Promise<{ code: number | null }>((resolve) =>
      service.process.once('exit', (code) => resolve({ code })),
    );
    expect(code).toBe(1);
    expect(service.output()).toMatch(message);
  } finally {
    await own.close();
  }
});

test('the output of a service contains no secret', async () => {
  const [row] = await database.query<{ secret: Buffer }>('SELECT secret FROM key_secret');
  const service = await startService({ database, env: { LOG_LEVEL: 'trace' } });
  const { key } = await createOwner(database);
  await new ApiClient(service, key).get('/v1/nothing');
  await service.close();
  for (const encoding of ['hex', 'base64', 'latin1'] as const)
    expect(service.output()).not.toContain(row!.secret.toString(encoding));
});
