import 'reflect-metadata';
import { Controller, Get, type Type } from '@nestjs/common';
import { SkipThrottle, Throttle } from '@nestjs/throttler';
import { Public, throttlerProblems } from '../../src/platform/access/public.decorator.js';
import { unknownKey } from '../harness/database/api-keys.js';
import { createOwner } from '../harness/database/factories.js';
import { ApiClient } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { useStore } from '../harness/http/store.js';
import { limitsOf, rateLimitHeaders, sequentially } from '../harness/rate-limit/limits.js';

const store = useStore({
  features: ['uncounted-routes'],
  env: { ANONYMOUS_REQUESTS_PER_MINUTE: '50' },
});

async function newClient(perMinute = 10): Promise<ApiClient> {
  const owner = await createOwner(store.database, { limits: { perMinute, perDay: 100 } });
  return new ApiClient(store.service, owner.key);
}

describe.each(['/v1/plain/skipped', '/v1/uncounted/skipped'])(
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
  'GET %s › 200 for every caller, without rate limit headers',
  async (path) => {
    const client = await newClient(1);
    for (const caller of [store.anonymous, client, client]) {
      const response = await caller.get(path);
      expect([response.status, rateLimitHeaders(response)]).toEqual([200, {}]);
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
    return throttlerProblems({ controller: Reports as Type, name: 'read', method: handler });
  }
  const throttle = Throttle({ default: { limit: 1, ttl: 1_000 } });

  it('succeeds with and without @SkipThrottle()', () => {
    expect(problemsOf([])).toEqual([]);
    expect(problemsOf([SkipThrottle({ default: false })], [SkipThrottle()])).toEqual([]);
    expect(problemsOf([Public(), SkipThrottle()])).toEqual([]);
  });

  it.each<[title: string, method: MethodDecorator[], controller: ClassDecorator[]]>([
    ['@Throttle() on a method', [throttle], []],
    ['@Throttle() on a controller', [SkipThrottle()], [throttle]],
    ['@SkipThrottle() for another throttler', [SkipThrottle({ long: true })], []],
  ])('fails with %s', (_title, method, controller) => {
    expect(problemsOf(method, controller)).toEqual([
      expect.stringMatching(/^Reports\.read: @Throttle\(\) is not supported/),
    ]);
  });
});
