import { type ApiResponse, ApiClient } from '../harness/http/client.js';
import { createKey, createOwner, type TestOwner } from '../harness/database/factories.js';
import {
  askUntil,
  DAY_MS,
  inParallel,
  sequentially,
  rateLimitHeaders,
  limitsOf,
  MINUTE_MS,
  notifyChange,
} from '../harness/rate-limit/limits.js';
import { startService, type TestService } from '../harness/service/service.js';

let service: TestService;

beforeAll(async () => {
  // The tests send more parallel requests than the default bounds allow.
  const most = '2000';
  service = await startService({
    env: {
      MAX_REQUESTS_IN_PROGRESS: most,
      MAX_UNAUTHENTICATED_REQUESTS: most,
      DATABASE_QUEUE_SIZE: most,
    },
  });
});
afterAll(() => service.close());

/** Sends a request that does not read animals. */
function asks(key: string): () => Promise<ApiResponse> {
  const client = new ApiClient(service, key);
  return () => client.get('/v1/nothing');
}

const plans = [
  { plan: 'free', perMinute: 60, perDay: 1_000 },
  { plan: 'pro', perMinute: 300, perDay: 10_000 },
  { plan: 'business', perMinute: 1_000, perDay: 100_000 },
  { plan: 'enterprise', perMinute: 77, perDay: 7_777 },
] as const;
describe.each(plans)('plan $plan', ({ plan, perMinute, perDay }) => {
  const newOwner = (): Promise<TestOwner> =>
    createOwner(
      service.database,
      plan === 'enterprise' ? { limits: { perMinute, perDay } } : { plan },
    );

  it(`GET /v1/pets › 200 with ${perMinute} per minute and ${perDay} per day`, async () => {
    const { key } = await newOwner();
    const response = await new ApiClient(service, key).get('/v1/pets');
    expect(response.status).toBe(200);
    expect(rateLimitHeaders(response)).toEqual({
      'x-ratelimit-limit': String(perMinute),
      'x-ratelimit-remaining': String(perMinute - 1),
      'x-ratelimit-reset': String((service.nowMs() + MINUTE_MS) / 1000),
      'ratelimit-policy': `"minute";q=${perMinute};w=60, "day";q=${perDay};w=86400`,
      ratelimit: `"minute";r=${perMinute - 1};t=60, "day";r=${perDay - 1};t=86400`,
    });
  });

  it(`${perMinute} of more parallel requests are allowed`, async () => {
    const ask = asks((await newOwner()).key);
    const responses = await inParallel(perMinute + 40, ask);
    const allowed = responses.filter(({ status }) => status === 404);
    expect(allowed).toHaveLength(perMinute);
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(40);
    // Each response has a different number.
    const remaining = allowed.map((response) => limitsOf(response).remaining).sort((a, b) => b - a);
    expect(remaining).toEqual(
      Array.from({ length: perMinute }, (_, index) => perMinute - 1 - index),
    );
  });
});

it('exactly 60 of 200 parallel requests with two keys of a Free owner are allowed', async () => {
  const owner = await createOwner(service.database, { plan: 'free' });
  const other = await createKey(service.database, owner.id);
  const responses = await Promise.all([
    ...Array.from({ length: 100 }, asks(owner.key)),
    ...Array.from({ length: 100 }, asks(other.key)),
  ]);
  expect(responses.filter(({ status }) => status === 404)).toHaveLength(60);
  expect(responses.filter(({ status }) => status === 429)).toHaveLength(140);
});

describe('a plan change', () => {
  async function setLimits(owner: TestOwner, perMinute: number, perDay: number): Promise<void> {
    await service.database.query(
      `UPDATE owners SET plan = 'enterprise', limit_per_minute = $2, limit_per_day = $3 WHERE id = $1`,
      [owner.id, perMinute, perDay],
    );
    await notifyChange(service.database, owner.id);
  }

  const holds =
    (policy: string) =>
    ({ headers }: ApiResponse): boolean =>
      headers['ratelimit-policy'] === policy;

  it('keeps the counts and the ends of both windows', async () => {
    const owner = await createOwner(service.database, { plan: 'free' });
    const ask = asks(owner.key);
    const endsAt = (service.nowMs() + MINUTE_MS) / 1000;
    await sequentially(10, ask);
    await service.advance(1_000);
    await setLimits(owner, 100, 2_000);
    const policy = '"minute";q=100;w=60, "day";q=2000;w=86400';
    const { response, asked } = await askUntil(ask, holds(policy));
    const used = 10 + asked;
    expect(limitsOf(response)).toEqual({ limit: 100, remaining: 100 - used, reset: endsAt });
    expect(response.headers['ratelimit']).toBe(
      `"minute";r=${100 - used};t=59, "day";r=${2_000 - used};t=86399`,
    );
  });

  it('to a limit below the count leaves 0 remaining until the window ends', async () => {
    const owner = await createOwner(service.database, {
      limits: { perMinute: 5_000, perDay: 9_000 },
    });
    const ask = asks(owner.key);
    await sequentially(10, ask);
    await setLimits(owner, 4, 9_000);
    const { response } = await askUntil(ask, ({ status }) => status === 429);
    expect(limitsOf(response)).toMatchObject({ limit: 4, remaining: 0 });
    expect(response.json.code).toBe('rate_limit_exceeded');
    await service.advance(MINUTE_MS);
    expect(limitsOf(await ask())).toMatchObject({ limit: 4, remaining: 3 });
  });

  it('to a higher limit allows a rejected owner the difference', async () => {
    const owner = await createOwner(service.database, { limits: { perMinute: 3, perDay: 100 } });
    const ask = asks(owner.key);
    expect((await sequentially(4, ask)).status).toBe(429);
    await setLimits(owner, 10, 100);
    const { response } = await askUntil(ask, ({ status }) => status === 404);
    expect(limitsOf(response)).toMatchObject({ limit: 10, remaining: 6 });
  });

  it('keeps the end of a day whose limit was exceeded', async () => {
    const owner = await createOwner(service.database, { limits: { perMinute: 10, perDay: 2 } });
    const ask = asks(owner.key);
    const endsAt = (service.nowMs() + DAY_MS) / 1000;
    expect((await sequentially(3, ask)).status).toBe(429);
    await setLimits(owner, 20, 3);
    const { response } = await askUntil(ask, ({ status }) => status === 404);
    expect(limitsOf(response)).toEqual({ limit: 3, remaining: 0, reset: endsAt });
  });
});
