import { readFileSync } from 'node:fs';
import type { OpenAPIObject } from '@nestjs/swagger';
import { PLANS } from '../../../src/plans.js';
import type { PlanLimits } from '../../../src/platform/config/plan-limits.js';
import { ApiClient } from '../../harness/http/client.js';
import { expectError } from '../../harness/http/error-response.js';
import { createKey, createOwner, type TestOwner } from '../../harness/database/factories.js';
import { featureFile, useStore } from '../../harness/http/store.js';
import {
  DAY_MS,
  limitsOf,
  MINUTE_MS,
  rateLimitHeaders,
  SECOND_MS,
  sequentially,
} from '../../harness/rate-limit/limits.js';
import { metric } from '../../harness/service/metrics.js';
import { UNBOUNDED } from '../../harness/service/service.js';

const store = useStore({ env: UNBOUNDED });

test.each([
  ['free', 60, 1_000],
  ['pro', 300, 10_000],
  ['business', 1_000, 100_000],
  ['enterprise', 77, 7_777],
] as const)(
  'an owner of plan %s can send %i per minute and %i per day, in parallel and with all keys',
  async (plan, perMinute, perDay) => {
    const limits = { perMinute, perDay };
    const owner = await createOwner(store.database, plan === 'enterprise' ? { limits } : { plan });
    const response = await new ApiClient(store.service, owner.key).get('/v1/items');
    expect(response.status).toBe(200);
    expect(rateLimitHeaders(response)).toEqual({
      'x-ratelimit-limit': String(perMinute),
      'x-ratelimit-remaining': String(perMinute - 1),
      'x-ratelimit-reset': String((store.service.nowMs() + MINUTE_MS) / 1000),
      'ratelimit-policy': `"minute";q=${perMinute};w=60, "day";q=${perDay};w=86400`,
      ratelimit: `"minute";r=${perMinute - 1};t=60, "day";r=${perDay - 1};t=86400`,
    });

    const other = await createKey(store.database, owner.id);
    const both = [store.asks(owner.key), store.asks(other.key)];
    const responses = await Promise.all(
      Array.from({ length: perMinute + 40 }, (_, index) => both[index % 2]!()),
    );
    const allowed = responses.filter(({ status }) => status === 404);
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(41);
    // Each response has a different number.
    expect(allowed.map((each) => limitsOf(each).remaining).sort((a, b) => a - b)).toEqual(
      Array.from({ length: perMinute - 1 }, (_, index) => index),
    );
  },
);

test('docs/limits.md has the limits of every plan', () => {
  const page = readFileSync('docs/limits.md', 'utf8');
  for (const [plan, limits] of Object.entries<PlanLimits | null>(PLANS)) {
    const texts = [limits?.perMinute, limits?.perDay].map(
      (limit) => limit?.toLocaleString('en-US') ?? 'set per owner',
    );
    expect(page).toMatch(new RegExp(`^\\| ${plan} +\\| ${texts.join(' +\\| ')} +\\|$`, 'im'));
  }
});

describe('a plan change', () => {
  async function newOwner(perMinute: number, perDay: number): Promise<TestOwner> {
    return createOwner(store.database, { limits: { perMinute, perDay } });
  }

  async function setLimits({ id }: TestOwner, perMinute: number, perDay: number): Promise<void> {
    await store.query(
      `UPDATE owners SET plan = 'enterprise', limit_per_minute = $2, limit_per_day = $3 WHERE id = $1`,
      [id, perMinute, perDay],
    );
    await store.service.advance(5 * SECOND_MS);
  }

  it('keeps the counts and the ends of both windows', async () => {
    const owner = await createOwner(store.database, { plan: 'free' });
    const ask = store.asks(owner.key);
    const endsAt = (store.service.nowMs() + MINUTE_MS) / 1000;
    await sequentially(10, ask);
    await store.service.advance(1_000);
    await setLimits(owner, 100, 2_000);
    const response = await ask();
    expect(limitsOf(response)).toEqual({ limit: 100, remaining: 89, reset: endsAt });
    expect(response.headers['ratelimit']).toBe('"minute";r=89;t=54, "day";r=1989;t=86394');
  });

  it('to a limit below the count leaves 0 remaining until the window ends', async () => {
    const owner = await newOwner(5_000, 9_000);
    const ask = store.asks(owner.key);
    await sequentially(10, ask);
    await setLimits(owner, 4, 9_000);
    const response = await ask();
    expect(limitsOf(response)).toMatchObject({ limit: 4, remaining: 0 });
    expect(response.json.code).toBe('rate_limit_exceeded');
    await store.service.advance(MINUTE_MS);
    expect(limitsOf(await ask())).toMatchObject({ limit: 4, remaining: 3 });
  });

  it.each([
    ['minute', 3, 100, 10, 100, { limit: 10, remaining: 6 }],
    ['day', 10, 2, 20, 3, { limit: 3, remaining: 0 }],
  ])(
    'to a higher limit per %s allows a rejected owner the difference, and keeps the end',
    async (window, perMinute, perDay, nextPerMinute, nextPerDay, expected) => {
      const owner = await newOwner(perMinute, perDay);
      const ask = store.asks(owner.key);
      const lengthMs = window === 'day' ? DAY_MS : MINUTE_MS;
      const reset = Math.ceil((store.service.nowMs() + lengthMs) / 1000);
      expect((await sequentially(Math.min(perMinute, perDay) + 1, ask)).status).toBe(429);
      await setLimits(owner, nextPerMinute, nextPerDay);
      const response = await ask();
      expect(response.status).toBe(404);
      expect(limitsOf(response)).toEqual({ ...expected, reset });
    },
  );
});

// Last, because its end closes the services of this file.
describe('the plans of a store', () => {
  const other = useStore({ app: featureFile('other-plans') });
  const custom = (plan: string, limitPerMinute: number | null, limitPerDay = limitPerMinute) => ({
    plan,
    limitPerMinute,
    limitPerDay,
  });

  const ask = (key: string) => other.asks(key)();
  const issue = async (owner: string, plan: object) =>
    (await other.anonymous.post('/v1/plans/new-owner', { owner, plan })).json;
  const setPlan = async (owner: string, plan: object) =>
    (await other.anonymous.post('/v1/plans/change', { owner, plan })).json;
  const lookups = (source: string) =>
    metric(other.service, `key_lookups_total{source="${source}"}`);

  it.each([
    ['gold', null, 7],
    ['partner', 3, 3],
  ])('limit its owners, and are in the description: %s', async (plan, limit, expected) => {
    const { key } = await issue(plan, custom(plan, limit));
    expect((await ask(key)).headers['x-ratelimit-limit']).toBe(String(expected));
    const { info } = (await other.anonymous.get('/openapi.json')).json as OpenAPIObject;
    expect(info.description).toContain('Free custom, Gold 7 and 70, Partner custom.');
  });

  it.each([
    ['the store does not have', custom('pro', null), 'The plan "pro" of an owner does not exist.'],
    ['has no such property', custom('constructor', null), 'does not exist'],
    ['lacks its limits', custom('partner', null), 'lacks its limits'],
    ['lacks a limit', custom('partner', 1, null), 'lacks its limits'],
    ['has limits of its own', custom('gold', 1), 'The limits of the plan "gold" are fixed.'],
  ])('no owner gets one that %s', async (_name, plan, message) => {
    const failure = { failure: expect.stringContaining(message) };
    expect(await issue('New', plan)).toEqual(failure);
    await createOwner(other.database, { name: 'Old', plan: 'gold' }).catch(() => undefined);
    expect(await setPlan('Old', plan)).toEqual(failure);
  });

  it('that are removed: 503 for their owners without a query for each request, until an operator has changed the plan', async () => {
    const { key } = await createOwner(other.database, { name: 'Silver', plan: 'silver' });
    const message = expectError(await ask(key), 503, 'service_unavailable');
    expect(message).not.toContain('database');
    const [cached, queries] = [await lookups('cache'), await lookups('database')];
    expect((await ask(key)).status).toBe(503);
    expect(await lookups('cache')).toBeGreaterThan(cached);
    expect(await lookups('database')).toBe(queries);
    await setPlan('Silver', custom('gold', null));
    await other.service.advance(5 * SECOND_MS);
    expect((await ask(key)).headers['x-ratelimit-limit']).toBe('7');
    await other.query(`UPDATE api_keys SET revoked_at = now()`);
    await other.query(`UPDATE owners SET plan = 'silver'`);
    await other.service.advance(5 * SECOND_MS);
    expect((await ask(key)).status).toBe(401);
  });
});
