import 'reflect-metadata';
import { join } from 'node:path';
import { Controller, Get, type Type } from '@nestjs/common';
import { SkipThrottle, Throttle } from '@nestjs/throttler';
import { unknownKey } from '../harness/database/api-keys.js';
import { Public } from '../../src/platform/access/public.decorator.js';
import { routeLimitProblems } from '../../src/platform/rate-limit/route-limit.js';
import { createOwner } from '../harness/database/factories.js';
import { ApiClient, send } from '../harness/http/client.js';
import { describeWithRedisClock, startRedis } from '../harness/processes/redis.js';
import { limitsOf, rateLimitHeaders, sequentially } from '../harness/rate-limit/limits.js';
import { startService, type TestService } from '../harness/service/service.js';

const features = join(__dirname, '../harness/features/throttled-routes.mjs');
const PATH = '/v1/reports/monthly';

let service: TestService;

beforeAll(async () => {
  service = await startService({ features, env: { ANONYMOUS_REQUESTS_PER_MINUTE: '20' } });
});
afterAll(() => service.close());

async function newClient(perMinute = 10): Promise<ApiClient> {
  const owner = await createOwner(service.database, { limits: { perMinute, perDay: 100 } });
  return new ApiClient(service, owner.key);
}

describe('GET of a route with @Throttle()', () => {
  it('200 with the window of the route when it has fewer requests remaining', async () => {
    const client = await newClient();
    const response = await client.get(PATH);
    expect(response.status).toBe(200);
    expect(rateLimitHeaders(response)).toEqual({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
      'x-ratelimit-reset': String(service.nowMs() / 1000 + 10),
      'ratelimit-policy': '"minute";q=10;w=60, "day";q=100;w=86400, "route";q=2;w=10',
      ratelimit: '"minute";r=9;t=60, "day";r=99;t=86400, "route";r=1;t=10',
    });
  });

  it('200 with the window of the plan when that has fewer requests remaining', async () => {
    const client = await newClient(2);
    expect(limitsOf(await client.get('/v1/reports/often'))).toMatchObject({
      limit: 2,
      remaining: 1,
    });
  });

  it('429 over the limit of the route, counted nowhere, and other routes are not affected', async () => {
    const client = await newClient();
    const response = await sequentially(3, () => client.get(PATH));
    expect(response).toMatchObject({ status: 429, json: { code: 'rate_limit_exceeded' } });
    expect(rateLimitHeaders(response)).toMatchObject({
      'retry-after': '10',
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '0',
      ratelimit: '"minute";r=8;t=60, "day";r=98;t=86400, "route";r=0;t=10',
    });
    const other = await client.get('/v1/reports/yearly');
    expect(other.status).toBe(200);
    expect(other.headers['ratelimit']).toContain('"minute";r=7;t=60');
    expect((await client.get('/v1/free/read')).headers['ratelimit']).toBe(
      '"minute";r=6;t=60, "day";r=96;t=86400',
    );
  });

  it('429 over the limit of the plan, not counted in the window of the route', async () => {
    const client = await newClient(2);
    await sequentially(2, () => client.get('/v1/free/read'));
    const response = await client.get(PATH);
    expect(response.status).toBe(429);
    expect(response.headers['ratelimit']).toContain('"route";r=2;t=10');
    expect(response.headers['retry-after']).toBe('60');
  });

  it('200 again when the window of the route has ended', async () => {
    const client = await newClient();
    await sequentially(3, () => client.get(PATH));
    await service.advance(10_000);
    expect(limitsOf(await client.get(PATH))).toMatchObject({ limit: 2, remaining: 1 });
  });

  it('200 within the limit of the method, which takes precedence over that of the controller', async () => {
    const client = await newClient();
    expect((await sequentially(4, () => client.get('/v1/reports/often'))).status).toBe(200);
    expect((await client.get('/v1/reports/often')).status).toBe(429);
  });

  it('200 for a @SkipThrottle() method of a @Throttle() controller, not counted', async () => {
    const client = await newClient();
    const response = await sequentially(5, () => client.get('/v1/reports/skipped'));
    expect(response.status).toBe(200);
    expect(response.headers['ratelimit']).toBe('"minute";r=10;t=60, "day";r=100;t=86400');
  });

  it('200 for each owner within its own limit', async () => {
    for (const client of [await newClient(), await newClient()]) {
      expect((await sequentially(2, () => client.get(PATH))).status).toBe(200);
    }
  });

  it.each([
    ['no API key', undefined],
    ['an unknown API key', `Bearer ${unknownKey()}`],
  ])('401 with %s, then 429, counted for the address', async (_title, authorization) => {
    await service.advance(60_000);
    const ask = () => send(service, PATH, authorization ? { headers: { authorization } } : {});
    const first = await ask();
    expect(first.status).toBe(401);
    expect(first.headers['ratelimit']).toBe('"minute";r=19;t=60, "route";r=1;t=10');
    await ask();
    const response = await ask();
    expect(response.status).toBe(429);
    expect(response.headers['ratelimit']).toBe('"minute";r=18;t=60, "route";r=0;t=10');
  });
});

describeWithRedisClock('GET of a route with @Throttle() and REDIS_URL', () => {
  it('429 over the limit, counted over two replicas in the hash of the owner', async () => {
    const redis = await startRedis({ nowMs: service.nowMs() });
    const env = { REDIS_URL: redis.url };
    const replicas = await Promise.all(
      [1, 2].map(() => startService({ features, env, database: service.database })),
    );
    try {
      const owner = await createOwner(service.database, { limits: { perMinute: 10, perDay: 100 } });
      const clients = replicas.map((replica) => new ApiClient(replica, owner.key));
      const statuses: number[] = [];
      for (const client of [...clients, ...clients]) {
        statuses.push((await client.get(PATH)).status);
      }
      expect(statuses).toEqual([200, 200, 429, 429]);
      const fields = await redis.client.hkeys(`aas:{owner:${owner.id}}`);
      expect(fields).toEqual(
        expect.arrayContaining(['minute', 'day', 'route:GET reports/monthly']),
      );
    } finally {
      await Promise.all(replicas.map((replica) => replica.close()));
      await redis.close();
    }
  });
});

describe('the start', () => {
  function problemsOf(method: MethodDecorator[], controller: ClassDecorator[] = []): string[] {
    class Reports {
      read(): object {
        return {};
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(Reports.prototype, 'read')!;
    for (const decorate of [Get(), ...method]) decorate(Reports.prototype, 'read', descriptor);
    for (const decorate of [Controller(), ...controller]) decorate(Reports);
    const handler = descriptor.value as object;
    return routeLimitProblems({ controller: Reports as Type, name: 'read', method: handler });
  }
  const throttle = (limit: unknown, ttl: unknown, more: object = {}) =>
    Throttle({ default: { limit, ttl, ...more } } as never);

  it('succeeds with a limit, with @SkipThrottle(), and without both', () => {
    expect(problemsOf([])).toEqual([]);
    expect(problemsOf([throttle(1, 1_000)])).toEqual([]);
    expect(problemsOf([], [throttle(100, 3_600_000)])).toEqual([]);
    expect(problemsOf([SkipThrottle({ default: false })], [SkipThrottle()])).toEqual([]);
    expect(problemsOf([Public(), throttle(1, 1_000)])).toEqual([]);
    expect(problemsOf([Public(), SkipThrottle()], [throttle(1, 1_000)])).toEqual([]);
  });

  it.each([
    [/limit of @Throttle\(\) must be an integer/, [throttle(0, 1_000)], []],
    [/limit of @Throttle\(\) must be an integer/, [throttle(1.5, 1_000)], []],
    [/limit of @Throttle\(\) must be an integer/, [throttle(() => 1, 1_000)], []],
    [/limit of @Throttle\(\) must be an integer/, [throttle(undefined, 1_000)], []],
    [/ttl of @Throttle\(\) must be whole seconds/, [throttle(1, 60)], []],
    [/ttl of @Throttle\(\) must be whole seconds/, [throttle(1, () => 1_000)], []],
    [/ttl of @Throttle\(\) must be whole seconds/, [throttle(1, undefined)], []],
    [/supports only limit and ttl/, [throttle(1, 1_000, { blockDuration: 5_000 })], []],
    [/supports only limit and ttl/, [throttle(1, 1_000, { getTracker: () => 'a' })], []],
    [/supports only limit and ttl/, [], [throttle(1, 1_000, { generateKey: () => 'a' })]],
    [/of the throttler 'default'/, [Throttle({ short: { limit: 1, ttl: 1_000 } })], []],
    [/of the throttler 'default'/, [], [SkipThrottle({ long: true })]],
  ] as [RegExp, MethodDecorator[], ClassDecorator[]][])(
    'fails with %s',
    (message, method, controller) => {
      const problems = [...new Set(problemsOf(method, controller))];
      expect(problems).toEqual([expect.stringMatching(message)]);
      expect(problems[0]).toMatch(/^Reports\.read: /);
    },
  );
});
