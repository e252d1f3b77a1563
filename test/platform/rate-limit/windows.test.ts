import { ApiClient, type ApiResponse, type RequestOptions } from '../../harness/http/client.js';
import { createKey, createOwner } from '../../harness/database/factories.js';
import { expectError } from '../../harness/http/error-response.js';
import { useStore } from '../../harness/http/store.js';
import { startService } from '../../harness/service/service.js';
import {
  DAY_MS,
  limitsOf,
  MINUTE_MS,
  rateLimitHeaders,
  sequentially,
} from '../../harness/rate-limit/limits.js';

const AMPLE = 1_000;

const store = useStore({ env: { BAN_AFTER_REJECTIONS: '0' } });

async function newClient(perMinute: number, perDay: number): Promise<ApiClient> {
  const owner = await createOwner(store.database, { limits: { perMinute, perDay } });
  return new ApiClient(store.service, owner.key);
}

/** Sends a request that does not read items. */
const asks = (client: ApiClient) => (): Promise<ApiResponse> => client.get('/v1/nothing');

const post = (body: string, type = 'application/json'): RequestOptions => ({
  method: 'POST',
  headers: { 'Content-Type': type },
  body,
});

it.each<[path: string, status: number, options?: RequestOptions]>([
  ['/v1/items', 200],
  ['/v1/items', 304, { headers: { 'If-None-Match': '*' } }],
  ['/v1/items?limit=0', 400],
  ['/v1/items?cursor=x', 400],
  ['/v1/items', 200, { method: 'HEAD' }],
  ['/v1/items', 204, { method: 'OPTIONS' }],
  ['/v1/items/1', 200],
  ['/v1/items/0', 404],
  ['/v1/items', 405, { method: 'DELETE' }],
  ['/v1/items', 201, post('{"name":"Rex","categoryId":1}')],
  ['/v1/items', 400, post('{}')],
  ['/v1/items', 400, post('{')],
  ['/v1/items', 415, post('x', 'text/plain')],
  ['/v1/items', 413, post(' '.repeat(102_401))],
  ['/v1/nothing', 404],
  ['/v1/%ff', 404],
  ['/nothing', 404],
])('%s › %i is counted once, with any of the owner’s keys: %j', async (...row) => {
  const [path, status, options] = row;
  const owner = await createOwner(store.database, { limits: { perMinute: 10, perDay: AMPLE } });
  const other = await createKey(store.database, owner.id);
  const client = new ApiClient(store.service, owner.key);
  // The item with the id 1.
  const pet = { name: 'Rex', categoryId: 1 };
  await client.post('/v1/items', pet);
  const response = await new ApiClient(store.service, other.key).send(path, options);
  expect(response.status).toBe(status);
  expect(limitsOf(response)).toMatchObject({ limit: 10, remaining: 8 });
  const next = await client.get('/v1/nothing');
  expect(next.headers['ratelimit']).toBe('"minute";r=7;t=60, "day";r=997;t=86400');
});

it.each([
  ['minute', MINUTE_MS, 2, AMPLE],
  ['day', DAY_MS, AMPLE, 2],
])(
  'the window of a %s starts with the first request and ends one length later, to the millisecond',
  async (window, lengthMs, perMinute, perDay) => {
    const ask = asks(await newClient(perMinute, perDay));
    await store.service.advance(123);
    const endsAtMs = store.service.nowMs() + lengthMs;
    await ask();
    await store.service.advance(lengthMs - 2);
    await sequentially(10, ask);
    await store.service.setClock(endsAtMs - 1);
    const rejected = await ask();
    expect(expectError(rejected, 429, 'rate_limit_exceeded')).toBe(
      `Over the limit of 2 requests per ${window}. Try again in 1 second.`,
    );
    const reset = Math.ceil(endsAtMs / 1000);
    expect(limitsOf(rejected)).toEqual({ limit: 2, remaining: 0, reset });
    expect(rejected.headers['retry-after']).toBe('1');
    await store.service.setClock(endsAtMs);
    const next = await ask();
    expect(next.status).toBe(404);
    const nextReset = Math.ceil((endsAtMs + lengthMs) / 1000);
    expect(limitsOf(next)).toEqual({ limit: 2, remaining: 1, reset: nextReset });
  },
);

it('after the clock is set back by an hour, a window of 60 seconds still ends 60 seconds after its start', async () => {
  const env = { BAN_AFTER_REJECTIONS: '0' };
  const service = await startService({ database: store.database, env });
  const owner = await createOwner(store.database, { limits: { perMinute: 1, perDay: AMPLE } });
  const client = new ApiClient(service, owner.key);
  await client.get('/v1/nothing');
  await service.setClock(service.nowMs() - 3_600_000);
  const rejected = await client.get('/v1/nothing');
  const reset = service.nowMs() / 1000 + 60;
  expect(limitsOf(rejected)).toEqual({ limit: 1, remaining: 0, reset });
  expect(rejected.headers['retry-after']).toBe('60');
  await service.advance(MINUTE_MS);
  expect((await client.get('/v1/nothing')).status).toBe(404);
  await service.close();
});

type Row = [
  perMinute: number,
  perDay: number,
  /** When requests are sent, in milliseconds after the first. The last response is checked. */
  at: number[],
  described: [limit: number, remaining: number, endsAtMs: number],
  /** Requests remaining and seconds left in the minute and the day. */
  states: [number, number, number, number],
  /** In seconds, if the last request is rejected. */
  retryAfter?: number,
];

it.each<Row>([
  // The window with fewer requests remaining, or, on a tie, the one that ends last.
  [10, 20, [0], [10, 9, MINUTE_MS], [9, 60, 19, 86_400]],
  [20, 10, [0], [10, 9, DAY_MS], [19, 60, 9, 86_400]],
  [10, 10, [0], [10, 9, DAY_MS], [9, 60, 9, 86_400]],
  [9, 10, [0, DAY_MS - 1], [9, 8, DAY_MS + MINUTE_MS], [8, 60, 8, 1]],
  [3, 4, [0, 1, MINUTE_MS], [4, 1, DAY_MS], [2, 60, 1, 86_340]],
  [1, 5, [0], [1, 0, MINUTE_MS], [0, 60, 4, 86_400]],
  // The window that rejects, or, of two, the one that ends last.
  [1, 5, [0, 1], [1, 0, MINUTE_MS], [0, 60, 4, 86_400], 60],
  [1, 1, [0, 1_500], [1, 0, DAY_MS], [0, 59, 0, 86_399], 86_399],
  [1, 2, [0, DAY_MS - 10_000, DAY_MS - 9_999], [1, 0, DAY_MS + 50_000], [0, 60, 0, 10], 60],
  // A rejection starts no minute: another one has all of its requests and its time.
  [5, 1, [0, MINUTE_MS], [1, 0, DAY_MS], [5, 60, 0, 86_340], 86_340],
  [5, 1, [0, DAY_MS - 10_000, DAY_MS - 1], [1, 0, DAY_MS], [5, 60, 0, 1], 1],
  // Rounded up to whole seconds.
  [1, 5, [1, 2], [1, 0, MINUTE_MS + 1_000], [0, 60, 4, 86_400], 60],
  [1, 5, [0, MINUTE_MS - 1], [1, 0, MINUTE_MS], [0, 1, 4, 86_341], 1],
  [1, 5, [0, MINUTE_MS - 1_001], [1, 0, MINUTE_MS], [0, 2, 4, 86_342], 2],
])(
  'with %i per minute and %i per day, the headers of the last request at %j ms describe %j',
  async (...row) => {
    const [perMinute, perDay, at, described, states, retryAfter] = row;
    // Every case starts at a whole second.
    const startMs = Math.ceil(store.service.nowMs() / 1000) * 1000;
    const ask = asks(await newClient(perMinute, perDay));
    let response: ApiResponse | undefined;
    for (const ms of at) {
      await store.service.setClock(startMs + ms);
      response = await ask();
    }
    const [limit, remaining, endsAtMs] = described;
    expect(response?.status).toBe(retryAfter === undefined ? 404 : 429);
    expect(rateLimitHeaders(response!)).toEqual({
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(remaining),
      'x-ratelimit-reset': String((startMs + endsAtMs) / 1000),
      'ratelimit-policy': `"minute";q=${perMinute};w=60, "day";q=${perDay};w=86400`,
      ratelimit: `"minute";r=${states[0]};t=${states[1]}, "day";r=${states[2]};t=${states[3]}`,
      ...(retryAfter && { 'retry-after': String(retryAfter) }),
    });
    const names = response!.rawHeaders.filter((name) => name.includes('RateLimit'));
    expect(new Set(names).size).toBe(5);
    expect(names).toHaveLength(5);
  },
);
