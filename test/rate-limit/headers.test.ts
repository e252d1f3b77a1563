import { type ApiResponse, ApiClient } from '../harness/http/client.js';
import { createOwner } from '../harness/database/factories.js';
import { DAY_MS, sequentially, rateLimitHeaders, MINUTE_MS } from '../harness/rate-limit/limits.js';
import { START_MS, startService, type TestService } from '../harness/service/service.js';

let service: TestService;

beforeAll(async () => {
  service = await startService({ env: { BAN_AFTER_REJECTIONS: '0' } });
});
afterAll(() => service.close());

interface HeaderCase {
  case: string;
  perMinute: number;
  perDay: number;
  /** When requests are sent, in milliseconds after the first. The last response is checked. */
  at: number[];
  status: 404 | 429;
  window: [limit: number, remaining: number, endsAtMs: number];
  rateLimit: string;
  retryAfter?: string;
}

const cases: HeaderCase[] = [
  {
    case: 'the minute, which has fewer requests remaining',
    perMinute: 10,
    perDay: 20,
    at: [0],
    status: 404,
    window: [10, 9, MINUTE_MS],
    rateLimit: '"minute";r=9;t=60, "day";r=19;t=86400',
  },
  {
    case: 'the day, which has fewer requests remaining',
    perMinute: 20,
    perDay: 10,
    at: [0],
    status: 404,
    window: [10, 9, DAY_MS],
    rateLimit: '"minute";r=19;t=60, "day";r=9;t=86400',
  },
  {
    case: 'the day on a tie, because it ends last',
    perMinute: 10,
    perDay: 10,
    at: [0],
    status: 404,
    window: [10, 9, DAY_MS],
    rateLimit: '"minute";r=9;t=60, "day";r=9;t=86400',
  },
  {
    case: 'the minute on a tie, if it ends last',
    perMinute: 9,
    perDay: 10,
    at: [0, DAY_MS - 1],
    status: 404,
    window: [9, 8, DAY_MS + MINUTE_MS],
    rateLimit: '"minute";r=8;t=60, "day";r=8;t=1',
  },
  {
    case: 'the day, when a new minute has more requests remaining',
    perMinute: 3,
    perDay: 4,
    at: [0, 1, MINUTE_MS],
    status: 404,
    window: [4, 1, DAY_MS],
    rateLimit: '"minute";r=2;t=60, "day";r=1;t=86340',
  },
  {
    case: '0 remaining for the last allowed request',
    perMinute: 1,
    perDay: 5,
    at: [0],
    status: 404,
    window: [1, 0, MINUTE_MS],
    rateLimit: '"minute";r=0;t=60, "day";r=4;t=86400',
  },
  {
    case: 'the minute that rejects the request',
    perMinute: 1,
    perDay: 5,
    at: [0, 1],
    status: 429,
    window: [1, 0, MINUTE_MS],
    rateLimit: '"minute";r=0;t=60, "day";r=4;t=86400',
    retryAfter: '60',
  },
  {
    case: 'the day that rejects the request, while the minute has not started',
    perMinute: 5,
    perDay: 1,
    at: [0, MINUTE_MS],
    status: 429,
    window: [1, 0, DAY_MS],
    rateLimit: '"minute";r=5;t=60, "day";r=0;t=86340',
    retryAfter: '86340',
  },
  {
    case: 'the day, when both reject and the day ends last',
    perMinute: 1,
    perDay: 1,
    at: [0, 1_500],
    status: 429,
    window: [1, 0, DAY_MS],
    rateLimit: '"minute";r=0;t=59, "day";r=0;t=86399',
    retryAfter: '86399',
  },
  {
    case: 'the minute, when both reject and the minute ends last',
    perMinute: 1,
    perDay: 2,
    at: [0, DAY_MS - 10_000, DAY_MS - 9_999],
    status: 429,
    window: [1, 0, DAY_MS + 50_000],
    rateLimit: '"minute";r=0;t=60, "day";r=0;t=10',
    retryAfter: '60',
  },
  {
    case: 'ends rounded up to whole seconds',
    perMinute: 1,
    perDay: 5,
    at: [1, 2],
    status: 429,
    window: [1, 0, MINUTE_MS + 1_000],
    rateLimit: '"minute";r=0;t=60, "day";r=4;t=86400',
    retryAfter: '60',
  },
  {
    case: 'a wait of one second in the last millisecond',
    perMinute: 1,
    perDay: 5,
    at: [0, MINUTE_MS - 1],
    status: 429,
    window: [1, 0, MINUTE_MS],
    rateLimit: '"minute";r=0;t=1, "day";r=4;t=86341',
    retryAfter: '1',
  },
  {
    case: 'a wait of two seconds when 1,001 milliseconds are left',
    perMinute: 1,
    perDay: 5,
    at: [0, MINUTE_MS - 1_001],
    status: 429,
    window: [1, 0, MINUTE_MS],
    rateLimit: '"minute";r=0;t=2, "day";r=4;t=86342',
    retryAfter: '2',
  },
];

it.each(cases)(
  'the headers describe $case',
  async ({ perMinute, perDay, at, status, window, rateLimit, retryAfter }) => {
    // Every case starts at a whole second.
    const startMs = Math.ceil(service.nowMs() / 1000) * 1000;
    const owner = await createOwner(service.database, { limits: { perMinute, perDay } });
    const client = new ApiClient(service, owner.key);
    let response: ApiResponse | undefined;
    for (const ms of at) {
      await service.setClock(startMs + ms);
      response = await client.get('/v1/nothing');
    }
    const [limit, remaining, endsAtMs] = window;
    expect(response?.status).toBe(status);
    expect(rateLimitHeaders(response!)).toEqual({
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(remaining),
      'x-ratelimit-reset': String((startMs + endsAtMs) / 1000),
      'ratelimit-policy': `"minute";q=${perMinute};w=60, "day";q=${perDay};w=86400`,
      ratelimit: rateLimit,
      ...(retryAfter && { 'retry-after': retryAfter }),
    });
  },
);

it('a client that waits for Retry-After is not rejected again', async () => {
  const owner = await createOwner(service.database, { limits: { perMinute: 2, perDay: 7 } });
  const client = new ApiClient(service, owner.key);
  for (let time = 0; time < 8; time++) {
    await service.advance(time * 997);
    const rejected = await sequentially(3, () => client.get('/v1/nothing'));
    expect(rejected.status).toBe(429);
    const seconds = Number(rejected.headers['retry-after']);
    expect(seconds).toBeGreaterThanOrEqual(1);
    await service.advance(seconds * 1_000);
    expect((await client.get('/v1/nothing')).status).toBe(404);
  }
});

it('each header is sent once, and X-RateLimit-Reset is a Unix time in seconds', async () => {
  const owner = await createOwner(service.database, { plan: 'free' });
  const { rawHeaders, headers } = await new ApiClient(service, owner.key).get('/v1/pets');
  for (const name of [
    'X-RateLimit-Limit',
    'X-RateLimit-Remaining',
    'X-RateLimit-Reset',
    'RateLimit-Policy',
    'RateLimit',
  ]) {
    expect(rawHeaders.filter((header) => header === name)).toHaveLength(1);
  }
  expect(Number(headers['x-ratelimit-reset']) * 1000).toBeGreaterThan(START_MS);
});
