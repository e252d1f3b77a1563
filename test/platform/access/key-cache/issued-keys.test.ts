import { earlierKey, keyMakerOf, unknownKey } from '../../../harness/database/api-keys.js';
import { createDatabase } from '../../../harness/database/database.js';
import { createKey, createOwner, type TestOwner } from '../../../harness/database/factories.js';
import { Relay } from '../../../harness/database/relay.js';
import { type ApiResponse, send } from '../../../harness/http/client.js';
import { expectError } from '../../../harness/http/error-response.js';
import { useStore } from '../../../harness/http/store.js';
import { limitsOf, rateLimitHeaders } from '../../../harness/rate-limit/limits.js';
import { metric } from '../../../harness/service/metrics.js';
import { startService } from '../../../harness/service/service.js';

const LIMIT = 20;
const QUERIES = 'key_lookups_total{source="database"}';
/** Every lookup of an API key contains this text. */
const LOOKUP = Buffer.from('WHERE key.hash =');

let relay: Relay;
let earlier: string;

const store = useStore(async (database) => {
  relay = await Relay.open(database.url);
  earlier = (await createKey(database, (await createOwner(database)).id, { isEarlier: true })).key;
  const env = {
    ANONYMOUS_REQUESTS_PER_MINUTE: String(LIMIT),
    LOG_LEVEL: 'trace',
    TRUST_PROXY: '1',
  };
  return { database: { ...database, url: relay.url }, env, features: 'limited-routes' };
});

type Ask = (key?: string, path?: string) => Promise<ApiResponse>;

let addresses = 0;
/** Returns what sends requests from another address. */
function newAddress(): Ask {
  const address = `198.51.100.${++addresses}`;
  return (key, path = '/v1/nothing') =>
    send(store.service, path, {
      headers: { 'X-Forwarded-For': address, ...(key && { Authorization: `Bearer ${key}` }) },
    });
}

const replaceLast = (key: string): string => key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a');

test.each<[string, () => string | Promise<string>]>([
  ['of another store', unknownKey],
  ['with a CRC-32, as earlier releases issued them', earlierKey],
  ['with a mistyped end', async () => replaceLast((await keyMakerOf(store.database)).create())],
  ['that is malformed', () => 'malformed'],
])('GET /v1/nothing › the same 401 for a key %s, without a query', async (_, create) => {
  const ask = newAddress();
  const malformed = await newAddress()('x');
  const queries = await metric(store.service, QUERIES);
  const sent = relay.timesSent(LOOKUP);
  for (let index = 0; index < LIMIT; index++) {
    const response = await ask(await create());
    expect([response.status, response.text]).toEqual([401, malformed.text]);
    expect(limitsOf(response).remaining).toBe(LIMIT - 1 - index);
  }
  expect((await ask(await create())).status).toBe(429);
  expect(await metric(store.service, QUERIES)).toBe(queries);
  expect(relay.timesSent(LOOKUP)).toBe(sent);
});

test('GET /v1/nothing › 404 for every valid key, cached or not, from an address over its limit', async () => {
  const ask = newAddress();
  for (let time = 0; time <= LIMIT; time++) await ask(unknownKey());
  expect((await ask()).status).toBe(429);
  const sent = relay.timesSent(LOOKUP);
  const owners: TestOwner[] = [];
  while (owners.length < LIMIT) owners.push(await createOwner(store.database));
  const responses = await Promise.all([...owners, ...owners].map(({ key }) => ask(key)));
  expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 404));
  expect(relay.timesSent(LOOKUP)).toBeGreaterThan(sent);
  expect((await ask()).status).toBe(429);
});

test('GET /v1/nothing › 404 for a key that an earlier release issued before the start', async () => {
  expect((await newAddress()(earlier)).status).toBe(404);
});

test('GET › 503 for a valid key that is not cached, 200 on a @Public() route, both counted nowhere, and 401 for a made-up key, when the database is unreachable', async () => {
  const { key } = await createKey(store.database, store.owner.id);
  const ask = newAddress();
  await relay.cut();
  const before = await ask(unknownKey());
  expectError(before, 401, 'invalid_api_key');
  const unavailable = await ask(key);
  expectError(unavailable, 503, 'service_unavailable');
  expect(unavailable.headers['www-authenticate']).toBeUndefined();
  const open = await ask(key, '/v1/plain/open');
  expect(open.status).toBe(200);
  expect(rateLimitHeaders(open)).toEqual(rateLimitHeaders(before));
  expect(rateLimitHeaders(unavailable)).toMatchObject(rateLimitHeaders(before));
  await relay.restore();
  expect(limitsOf(await ask(key)).remaining).toBe(999_999);
  expect(limitsOf(await ask()).remaining).toBe(limitsOf(before).remaining - 1);
});

test('the output of the service contains no secret', async () => {
  const [row] = await store.query<{ secret: Buffer }>('SELECT secret FROM key_secret');
  expect(store.service.logs().length).toBeGreaterThan(0);
  for (const encoding of ['hex', 'base64', 'latin1'] as const)
    expect(store.service.output()).not.toContain(row!.secret.toString(encoding));
});

test.each([
  ['the secret is missing', 'DELETE FROM key_secret', /key_secret is empty/],
  ['the schema is of an earlier release', 'DROP TABLE key_secret', /"key_secret" does not exist/],
])('the service does not start when %s', async (_, sql, message) => {
  const database = await createDatabase();
  await database.query(sql);
  await expect(startService({ database })).rejects.toThrow(message);
  await database.close();
});
