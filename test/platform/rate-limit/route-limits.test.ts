import { unknownKey } from '../../harness/database/api-keys.js';
import { createOwner } from '../../harness/database/factories.js';
import { ApiClient } from '../../harness/http/client.js';
import { expectError } from '../../harness/http/error-response.js';
import { useStore } from '../../harness/http/store.js';
import { limitsOf, rateLimitHeaders, sequentially } from '../../harness/rate-limit/limits.js';

const THROTTLED = '/v1/reports/monthly';

const store = useStore({
  features: 'limited-routes',
  env: { ANONYMOUS_REQUESTS_PER_MINUTE: '50' },
});

async function newClient(perMinute = 10): Promise<ApiClient> {
  const owner = await createOwner(store.database, { limits: { perMinute, perDay: 100 } });
  return new ApiClient(store.service, owner.key);
}

describe('GET of a route with @Throttle()', () => {
  it('200 with the window of the route, then 429, counted nowhere, until it ends; other routes are not affected', async () => {
    for (const client of [await newClient(), await newClient()]) {
      const first = await client.get(THROTTLED);
      expect(first.status).toBe(200);
      expect(rateLimitHeaders(first)).toEqual({
        'x-ratelimit-limit': '2',
        'x-ratelimit-remaining': '1',
        'x-ratelimit-reset': String(store.service.nowMs() / 1000 + 10),
        'ratelimit-policy': '"minute";q=10;w=60, "day";q=100;w=86400, "route";q=2;w=10',
        ratelimit: '"minute";r=9;t=60, "day";r=99;t=86400, "route";r=1;t=10',
      });
      const rejected = await sequentially(2, () => client.get(THROTTLED));
      expectError(rejected, 429, 'rate_limit_exceeded');
      expect(rateLimitHeaders(rejected)).toMatchObject({
        'retry-after': '10',
        'x-ratelimit-limit': '2',
        'x-ratelimit-remaining': '0',
        ratelimit: '"minute";r=8;t=60, "day";r=98;t=86400, "route";r=0;t=10',
      });
      const other = await client.get('/v1/reports/yearly');
      expect(other.status).toBe(200);
      expect(other.headers['ratelimit']).toContain('"minute";r=7;t=60');
      const free = await client.get('/v1/free/read');
      expect(free.headers['ratelimit']).toBe('"minute";r=6;t=60, "day";r=96;t=86400');
      await store.service.advance(10_000);
      expect(limitsOf(await client.get(THROTTLED))).toMatchObject({ limit: 2, remaining: 1 });
    }
  });

  it('200 with a limit that a function returns for the caller, then 429', async () => {
    for (const [plan, limit] of [
      ['free', '1'],
      ['pro', '2'],
    ] as const) {
      const { key } = await createOwner(store.database, { plan });
      const client = new ApiClient(store.service, key);
      const first = await client.get('/v1/plain/by-plan');
      expect(rateLimitHeaders(first)).toMatchObject({
        'x-ratelimit-limit': limit,
        'ratelimit-policy': expect.stringMatching(`"route";q=${limit};w=5$`) as unknown,
      });
      const rejected = await sequentially(Number(limit), () => client.get('/v1/plain/by-plan'));
      expectError(rejected, 429, 'rate_limit_exceeded');
    }
    expectError(await store.anonymous.get('/v1/plain/by-plan'), 401, 'missing_api_key');
  });

  it('200 for a @Public() method over no limit of the plan, 429 over that of the route', async () => {
    const client = await newClient(5);
    expect((await client.get('/v1/plain/limited')).status).toBe(200);
    expect((await client.get('/v1/plain/limited')).status).toBe(429);
    expect((await client.get('/v1/plain/open')).status).toBe(200);
  });

  it.each<[string, Record<string, string>]>([
    ['no API key', {}],
    ['an unknown API key', { Authorization: `Bearer ${unknownKey()}` }],
  ])('401 with %s, then 429, counted for the address', async (_title, headers) => {
    await store.service.advance(60_000);
    const ask = () => store.anonymous.get(THROTTLED, headers);
    const first = await ask();
    expect(first.status).toBe(401);
    expect(first.headers['ratelimit']).toBe('"minute";r=49;t=60, "route";r=1;t=10');
    const response = await sequentially(2, ask);
    expect(response.status).toBe(429);
    expect(response.headers['ratelimit']).toBe('"minute";r=48;t=60, "route";r=0;t=10');
  });
});

describe.each(['/v1/plain/skipped', '/v1/uncounted/skipped', '/v1/reports/skipped'])(
  'GET %s with @SkipThrottle()',
  (path) => {
    it('200 with the current limits, not counted, also with 0 remaining and during a ban', async () => {
      const client = await newClient(2);
      const states: unknown[] = [];
      for (const counted of [0, 1, 1, 2]) {
        for (let time = 0; time < counted; time++) await client.get('/v1/plain/counted');
        const response = await sequentially(2, () => client.get(path));
        expect(response.status).toBe(200);
        states.push(response.headers['ratelimit']);
      }
      expect((await client.get('/v1/plain/counted')).json.code).toBe('api_key_banned');
      expect(states).toEqual([
        '"minute";r=2;t=60, "day";r=100;t=86400',
        '"minute";r=1;t=60, "day";r=99;t=86400',
        '"minute";r=0;t=60, "day";r=98;t=86400',
        '"minute";r=0;t=300, "day";r=0;t=300',
      ]);
    });

    it('401 without a key, with the limits of the address, not counted', async () => {
      const before = limitsOf(await store.anonymous.get(path));
      const response = await store.anonymous.get(path);
      expectError(response, 401, 'missing_api_key');
      expect(limitsOf(response)).toEqual({ ...before, limit: 50 });
    });
  },
);

it.each(['/v1/plain/counted', '/v1/uncounted/counted'])(
  'GET %s › 200, counted in the owner’s budget',
  async (path) => {
    const client = await newClient(5);
    const response = await sequentially(3, () => client.get(path));
    expect(limitsOf(response)).toMatchObject({ limit: 5, remaining: 2 });
  },
);

it.each(['/v1/plain/free', '/health/live'])(
  'GET %s › 200 for every caller, counted nowhere',
  async (path) => {
    const client = await newClient(1);
    const [first] = await Promise.all(
      [store.anonymous, client, client].map((each) => each.get(path)),
    );
    for (const caller of [store.anonymous, client, client]) {
      const response = await caller.get(path);
      const { remaining } = limitsOf(response);
      expect([response.status, remaining]).toEqual([200, limitsOf(first!).remaining]);
    }
    expect((await client.get('/v1/plain/counted')).status).toBe(200);
  },
);

describe.each(['/v1/plain/open', '/v1/open/open'])('GET %s with @Public()', (path) => {
  it('200 with a valid key, counted for its owner, then 429', async () => {
    const client = await newClient(2);
    expect(limitsOf(await client.get(path))).toMatchObject({ limit: 2, remaining: 1 });
    expect(limitsOf(await client.get('/v1/plain/counted')).remaining).toBe(0);
    expectError(await client.get(path), 429, 'rate_limit_exceeded');
  });

  it('200 without a valid key, counted for the address', async () => {
    const { remaining } = limitsOf(await store.anonymous.get(path));
    const keys = [undefined, unknownKey(), 'malformed'];
    for (const [index, key] of keys.entries()) {
      const response = await new ApiClient(store.service, key).get(path);
      expect(response.status).toBe(200);
      expect(limitsOf(response).remaining).toBe(remaining - 1 - index);
    }
  });
});
