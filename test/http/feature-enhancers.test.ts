import { expectError, expectRateLimitHeaders } from '../harness/http/error-response.js';
import { useStore } from '../harness/http/store.js';

const store = useStore({ features: 'enhancers', env: { ANONYMOUS_REQUESTS_PER_MINUTE: '2' } });

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
