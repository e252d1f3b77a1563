import { createKey, createOwner } from '../harness/database/factories.js';
import { ApiClient, type ApiResponse } from '../harness/http/client.js';
import { expectError, expectRateLimitHeaders } from '../harness/http/error-response.js';
import { useStore } from '../harness/http/store.js';

const store = useStore({
  features: ['enhancers', 'roles'],
  env: { ANONYMOUS_REQUESTS_PER_MINUTE: '2' },
});

describe('APP_GUARD and APP_INTERCEPTOR of a feature', () => {
  it('are global: every route passes the interceptor, and the promises of the store hold', async () => {
    const pet = { name: 'Frank', categoryId: 1, status: 'available' };
    const responses = [
      await store.api.post('/v1/items', pet, { 'Idempotency-Key': 'a' }),
      await store.api.post('/v1/items', pet, { 'Idempotency-Key': 'a' }),
      await store.api.get('/v1/items/1'),
    ];
    expect(responses.map(({ status }) => status)).toEqual([201, 201, 200]);
    for (const { json, headers } of responses) {
      expect(json).toEqual({ id: 1, ...pet });
      expect(headers).toMatchObject({ 'x-every-route': 'yes' });
    }
  });

  it('an interceptor wraps the results of features, and not the pages of the platform', async () => {
    const get = (path: string) => store.api.get(path, { 'X-Wrap': 'yes' });
    expect((await get('/v1/wares/a')).json).toEqual({ data: { ware: 'a' } });
    for (const path of ['/openapi.json', '/openapi.yaml', '/docs', '/docs/page.css'])
      expect((await get(path)).text).toBe((await store.api.get(path)).text);
    expect((await get('/health/live')).json).toMatchObject({ status: 'ok' });
    expect((await get('/health/ready')).json).toMatchObject({ status: 'ok' });
  });

  it('guard › 403 after the checks of the platform: 401 without a key, then 429', async () => {
    const stop = { 'X-Stop': 'yes' };
    const rejected = await store.api.get('/v1/items', stop);
    expect(rejected.json).toEqual({
      code: 'forbidden',
      message: 'Forbidden resource',
      status: 403,
    });
    expectRateLimitHeaders(rejected);
    for (const path of ['/v1/items', '/v1/wares/a']) {
      expectError(await store.anonymous.get(path, stop), 401, 'missing_api_key');
    }
    expectError(await store.anonymous.get('/v1/wares/a', stop), 429, 'rate_limit_exceeded');
  });
});

test('middleware of a feature, before the guards › its rejections have the rate limit headers', async () => {
  const reject = (how: string) => store.api.get('/v1/wares/a', { 'X-Reject': how });
  expect(expectError(await reject('exception'), 403, 'forbidden')).toBe('Not from here.');
  expectError(await reject('private'), 500, 'internal_error');
  expect(expectError(await reject('public'), 413, 'payload_too_large')).toBe('Too much.');
  const own = await reject('response');
  expect([own.status, own.json]).toEqual([403, { own: true }]);
  expectRateLimitHeaders(own);
  expect((await reject('nothing')).headers['ratelimit-policy']).toContain('"day"');
});

test('each log line of a feature has the id of its request, after any kind of wait', async () => {
  const wares = Array.from({ length: 40 }, (_, index) => `ware-${index}`);
  const lines = () => store.service.logs().filter(({ msg }) => msg === 'sold');
  await Promise.all(
    wares.map((ware) => store.api.get(`/v1/wares/sold/${ware}`, { 'X-Request-Id': ware })),
  );
  await store.service.waitForLog(() => lines().length === 3 * wares.length);
  for (const { ware, requestId } of lines()) expect(requestId).toBe(ware);
});

test('a guard of a feature › the role of an API key stays when the key is rotated', async () => {
  await store.query(
    'CREATE TABLE test_key_roles (first_key_id bigint, role text, PRIMARY KEY (first_key_id, role))',
  );
  const { id, key, keyId } = await createOwner(store.database);
  const successor = await createKey(store.database, id, { firstKeyId: keyId });
  const other = await createKey(store.database, id);
  await store.query("INSERT INTO test_key_roles VALUES ($1, 'curator')", [keyId]);
  const shown = (ofKey: string) => new ApiClient(store.service, ofKey).get('/v1/shows/mine');
  const firstKeyId = Number(keyId);
  expect((await shown(key)).json).toEqual({ keyId: firstKeyId, firstKeyId });
  expect((await shown(successor.key)).json).toEqual({ keyId: Number(successor.keyId), firstKeyId });
  expect((await shown(other.key)).status).toBe(403);
});

describe('exception filters of a feature', () => {
  const filtered = useStore({ features: 'filters' });

  const lineOf = ({ headers }: ApiResponse) =>
    filtered.service.waitForLog(
      ({ requestId, msg }) => msg === 'request' && requestId === headers['x-request-id'],
    );

  it('APP_FILTER › translates each message of a 400, and the log line has its status', async () => {
    const letter = { kinds: ['a', 'c'], parts: [{ name: 'x' }, { name: 1 }] };
    const response = await filtered.api.post('/v1/letters', letter);
    expect([response.status, response.json]).toEqual([
      400,
      {
        translated: ['kinds ist unbekannt', 'parts.1.name muss Text sein', 'title muss Text sein'],
      },
    ]);
    expect(await lineOf(response)).toMatchObject({ status: 400 });
    const empty = await filtered.api.send('/v1/letters', { method: 'POST' });
    expect(empty.json).toHaveProperty('translated.1', 'title muss Text sein');
  });

  it('APP_FILTER › gets the errors of the guards and of other features', async () => {
    for (const path of ['/v1/items/9', '/v1/nope']) {
      const response = await filtered.api.get(path);
      expect([response.status, response.json]).toEqual([404, { translated: [] }]);
      expect(await lineOf(response)).toMatchObject({ status: 404, level: 30 });
    }
    const response = await filtered.anonymous.get('/v1/items');
    expect(response.status).toBe(401);
    expect(await lineOf(response)).toMatchObject({ status: 401 });
  });

  it.each(['class', 'instance', 'defect'])(
    '@UseFilters() of a route: %s › the log line has the status that was sent',
    async (path) => {
      const response = await filtered.api.get(`/v1/letters/${path}`);
      expect([response.status, response.text]).toEqual([422, 'plain']);
      expect(await lineOf(response)).toMatchObject({ status: 422, level: 30 });
    },
  );
});
