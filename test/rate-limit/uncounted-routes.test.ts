import { join } from 'node:path';
import { ApiClient, send } from '../harness/http/client.js';
import { unknownKey } from '../harness/database/api-keys.js';
import { createOwner } from '../harness/database/factories.js';
import { sequentially, rateLimitHeaders, limitsOf } from '../harness/rate-limit/limits.js';
import { startService, type TestService } from '../harness/service/service.js';

let service: TestService;

beforeAll(async () => {
  service = await startService({
    features: join(__dirname, '../harness/features/uncounted-routes.mjs'),
  });
});
afterAll(() => service.close());

async function newClient(perMinute: number): Promise<ApiClient> {
  const owner = await createOwner(service.database, { limits: { perMinute, perDay: 100 } });
  return new ApiClient(service, owner.key);
}

describe.each(['/v1/plain/skipped', '/v1/uncounted/skipped'])(
  '@SkipThrottle() on GET %s',
  (path) => {
    it('200 with the current limits, not counted', async () => {
      const client = await newClient(5);
      expect(limitsOf(await sequentially(3, () => client.get(path)))).toMatchObject({
        limit: 5,
        remaining: 5,
      });
      await client.get('/v1/plain/counted');
      const response = await client.get(path);
      expect(response.status).toBe(200);
      expect(rateLimitHeaders(response)).toMatchObject({
        'x-ratelimit-remaining': '4',
        ratelimit: '"minute";r=4;t=60, "day";r=99;t=86400',
      });
    });

    it('200 with 0 remaining and during a ban', async () => {
      const client = await newClient(1);
      await client.get('/v1/plain/counted');
      expect(await client.get(path)).toMatchObject({
        status: 200,
        headers: { 'x-ratelimit-remaining': '0' },
      });
      expect((await client.get('/v1/plain/counted')).json.code).toBe('api_key_banned');
      const response = await client.get(path);
      expect(response.status).toBe(200);
      expect(response.headers['ratelimit']).toBe('"minute";r=0;t=300, "day";r=0;t=300');
    });

    it('401 without a key, with the limits of the address, not counted', async () => {
      const { remaining } = limitsOf(await send(service, path));
      const response = await send(service, path);
      expect(response.status).toBe(401);
      expect(limitsOf(response)).toMatchObject({ limit: 300, remaining });
    });
  },
);

it.each(['/v1/plain/counted', '/v1/uncounted/counted'])(
  'GET %s › 200, counted in the owner’s budget',
  async (path) => {
    const client = await newClient(5);
    expect(limitsOf(await sequentially(3, () => client.get(path)))).toMatchObject({
      limit: 5,
      remaining: 2,
    });
  },
);

it.each(['/v1/plain/free', '/health/live'])(
  'GET %s › 200 for every caller, without rate limit headers',
  async (path) => {
    const client = await newClient(1);
    for (const response of [
      await send(service, path),
      await client.get(path),
      await client.get(path),
    ]) {
      expect(response.status).toBe(200);
      expect(rateLimitHeaders(response)).toEqual({});
    }
    expect((await client.get('/v1/plain/counted')).status).toBe(200);
  },
);

describe.each(['/v1/plain/open', '/v1/open/open'])('@Public() on GET %s', (path) => {
  it('200 with a valid key, counted for its owner', async () => {
    const client = await newClient(5);
    expect(limitsOf(await client.get(path))).toMatchObject({ limit: 5, remaining: 4 });
    expect(limitsOf(await client.get('/v1/plain/counted')).remaining).toBe(3);
  });

  it('200 without a valid key, counted for the address', async () => {
    const { remaining } = limitsOf(await send(service, path));
    const responses = [
      await send(service, path),
      await new ApiClient(service, unknownKey()).get(path),
      await new ApiClient(service, 'malformed').get(path),
    ];
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(responses.map((response) => limitsOf(response).remaining)).toEqual(
      [1, 2, 3].map((used) => remaining - used),
    );
  });

  it('429 over the limit of the owner', async () => {
    const client = await newClient(1);
    expect((await client.get(path)).status).toBe(200);
    expect((await client.get(path)).status).toBe(429);
  });
});

it('GET of a @Public() route with @Throttle() › 429 over the limit of the route', async () => {
  const client = await newClient(5);
  expect((await client.get('/v1/plain/limited')).status).toBe(200);
  expect((await client.get('/v1/plain/limited')).status).toBe(429);
  expect((await client.get('/v1/plain/open')).status).toBe(200);
});
