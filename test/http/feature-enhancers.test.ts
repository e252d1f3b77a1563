import { expectError, expectRateLimitHeaders } from '../harness/http/error-response.js';
import { useStore } from '../harness/http/store.js';

const store = useStore({ features: 'enhancers', env: { ANONYMOUS_REQUESTS_PER_MINUTE: '2' } });

describe('APP_GUARD, APP_INTERCEPTOR, APP_PIPE and APP_FILTER of a feature', () => {
  test('APP_INTERCEPTOR › every route passes it, and its result is serialized', async () => {
    const pet = { name: 'Frank', categoryId: 1, status: 'available' };
    const key = { 'Idempotency-Key': 'a' };
    const created = [
      await store.api.post('/v1/pets', pet, key),
      await store.api.post('/v1/pets', pet, key),
    ];
    for (const { status, json } of created) expect([status, json]).toMatchObject([201, pet]);
    const list = await store.api.get('/v1/pets?limit=1');
    expect([list.status, list.json]).toMatchObject([200, [pet]]);
    await store.api.post('/v1/pets', { name: 'Large', categoryId: 2 });
    expect((await store.api.get('/v1/pets?limit=1')).headers.link).toContain('rel="next"');
    const toy = await store.api.get('/v1/toys');
    expect(toy.json).toEqual({ name: 'Rope' });
    for (const { headers } of [...created, list, toy]) {
      expect(headers).toMatchObject({ 'x-every-route': 'yes' });
    }
  });

  test('APP_GUARD › 403 after the checks of the platform: 401 without a key, then 429', async () => {
    const stop = { 'X-Stop': 'yes' };
    const { status, headers, json } = await store.api.get('/v1/pets', stop);
    // BaseExceptionFilter of NestJS sends it.
    expect([status, json]).toMatchObject([403, { message: 'Forbidden resource' }]);
    expectRateLimitHeaders({ status, headers, text: '' });
    expectError(await store.anonymous.get('/v1/pets', stop), 401, 'missing_api_key');
    expectError(await store.anonymous.get('/v1/toys', stop), 401, 'missing_api_key');
    expectError(await store.anonymous.get('/v1/toys', stop), 429, 'rate_limit_exceeded');
  });

  test('APP_FILTER › what it catches, and the ErrorFilter of the platform the rest', async () => {
    const teapot = await store.api.get('/v1/toys/teapot');
    expect([teapot.status, teapot.json]).toEqual([418, { caught: true }]);
    const conflict = await store.api.get('/v1/toys/conflict');
    expect(expectError(conflict, 409, 'conflict')).toBe('The pipe rejects it.');
    expectError(await store.api.get('/v1/toys/defect'), 500, 'internal_error');
    expectError(await store.api.get('/v1/pets/0'), 404, 'pet_not_found');
    expectError(await store.api.get('/v1/nope'), 404, 'route_not_found');
  });
});
