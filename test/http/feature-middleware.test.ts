import { expectError, expectRateLimitHeaders } from '../harness/http/error-response.js';
import { useStore } from '../harness/http/store.js';

const store = useStore({ features: 'middleware' });

describe('middleware of configure(consumer), before the guards', () => {
  test.each([
    ['exception', 403, 'forbidden', 'Not from here.'],
    ['http-errors', 403, 'forbidden', 'Invalid token.'],
    ['private', 500, 'internal_error', 'The service failed to handle the request.'],
  ] as const)(
    'GET /v1/wares › %s: %i with an Error and the rate limit headers',
    async (kind, status, code, message) => {
      const response = await store.api.get('/v1/wares', { 'X-Reject': kind });
      expect(expectError(response, status, code)).toBe(message);
    },
  );

  test('GET /v1/wares › a response of its own has the rate limit headers of the address', async () => {
    const response = await store.api.get('/v1/wares', { 'X-Reject': 'response' });
    expect([response.status, response.json]).toEqual([403, { own: true }]);
    expectRateLimitHeaders(response);
  });

  test('GET /v1/wares › 200 with the header that it adds, and the limits of the owner', async () => {
    const { status, headers } = await store.api.get('/v1/wares');
    expect([status, headers['x-before']]).toEqual([200, 'yes']);
    expect(headers['ratelimit-policy']).toContain('"day"');
  });

  test('GET /v1/pets and /health/live › unchanged where a middleware does nothing', async () => {
    expect((await store.api.get('/v1/pets')).status).toBe(200);
    const live = await store.anonymous.get('/health/live');
    expect([live.status, live.headers['ratelimit']]).toEqual([200, undefined]);
  });
});

describe('what a package mounts in onModuleInit', () => {
  test('GET /files and /pages › 200 with an API key, counted', async () => {
    const file = await store.api.get('/files/middleware.mjs');
    expect([file.status, file.text]).toEqual([200, expect.stringContaining('@ts-check')]);
    const page = await store.api.get('/pages/any');
    expect([page.status, page.text]).toEqual([200, '<p>Wares']);
    for (const response of [file, page]) expectRateLimitHeaders(response);
  });

  test('401 without an API key, 404 for a path that it does not serve, 405 as before', async () => {
    expectError(await store.anonymous.get('/files/middleware.mjs'), 401, 'missing_api_key');
    for (const path of ['/files/missing', '/v1/nope']) {
      expectError(await store.api.get(path), 404, 'route_not_found');
    }
    expectError(await store.api.post('/pages/any', {}), 404, 'route_not_found');
    const malformed = {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{',
    };
    expectError(await store.api.send('/v1/nope', malformed), 404, 'route_not_found');
    const response = await store.api.send('/v1/wares', { method: 'DELETE' });
    expectError(response, 405, 'method_not_allowed');
    expect(response.headers['allow']).toBe('GET, HEAD, OPTIONS');
  });
});
