import { type ApiResponse, ApiClient } from '../harness/http/client.js';
import { createKey, createOwner, createPets } from '../harness/database/factories.js';
import {
  DAY_MS,
  sequentially,
  rateLimitHeaders,
  limitsOf,
  MINUTE_MS,
  SECOND_MS,
} from '../harness/rate-limit/limits.js';
import { startService, type TestService } from '../harness/service/service.js';

const AMPLE = 1_000;

let service: TestService;

beforeAll(async () => {
  service = await startService({ env: { BAN_AFTER_REJECTIONS: '0' } });
});
afterAll(() => service.close());

async function newClient(perMinute: number, perDay: number): Promise<ApiClient> {
  const owner = await createOwner(service.database, { limits: { perMinute, perDay } });
  return new ApiClient(service, owner.key);
}

/** Sends a request that does not read animals. */
function asks(client: ApiClient): () => Promise<ApiResponse> {
  return () => client.get('/v1/nothing');
}

describe('a request is counted once', () => {
  const counted: [
    string,
    number,
    (client: ApiClient, petId: string, etag: string) => Promise<ApiResponse>,
  ][] = [
    ['GET /v1/pets', 200, (client) => client.get('/v1/pets')],
    [
      'GET /v1/pets, not modified',
      304,
      (client, _, etag) => client.get('/v1/pets', { 'If-None-Match': etag }),
    ],
    ['GET /v1/pets with a bad limit', 400, (client) => client.get('/v1/pets?limit=0')],
    ['GET /v1/pets with a bad cursor', 400, (client) => client.get('/v1/pets?cursor=x')],
    ['HEAD /v1/pets', 200, (client) => client.send('/v1/pets', { method: 'HEAD' })],
    ['OPTIONS /v1/pets', 204, (client) => client.send('/v1/pets', { method: 'OPTIONS' })],
    ['GET /v1/pets/{petId}', 200, (client, petId) => client.get(`/v1/pets/${petId}`)],
    ['GET /v1/pets/{petId} of no animal', 404, (client) => client.get('/v1/pets/0')],
    ['DELETE /v1/pets', 405, (client) => client.send('/v1/pets', { method: 'DELETE' })],
    ['POST /v1/pets', 201, (client) => client.post('/v1/pets', { name: 'Rex', categoryId: 1 })],
    ['POST /v1/pets without fields', 400, (client) => client.post('/v1/pets', {})],
    ['POST /v1/pets with malformed JSON', 400, (client) => client.post('/v1/pets', '{')],
    [
      'POST /v1/pets as text',
      415,
      (client) => client.post('/v1/pets', 'x', { 'Content-Type': 'text/plain' }),
    ],
    ['POST /v1/pets, too large', 413, (client) => client.post('/v1/pets', ' '.repeat(102_401))],
    ['GET of an unknown path', 404, (client) => client.get('/v1/nothing')],
    ['GET of a path that does not decode', 404, (client) => client.get('/v1/%ff')],
    ['GET outside /v1', 404, (client) => client.get('/nothing')],
  ];
  it.each(counted)('%s › %i', async (_, status, ask) => {
    const client = await newClient(10, AMPLE);
    const [petId] = await createPets(service.database, 1);
    const { headers } = await client.get('/v1/pets');
    const response = await ask(client, petId!, String(headers['etag']));
    expect(response.status).toBe(status);
    expect(limitsOf(response)).toMatchObject({ limit: 10, remaining: 8 });
    const next = await client.get('/v1/nothing');
    expect(next.headers['ratelimit']).toBe('"minute";r=7;t=60, "day";r=997;t=86400');
  });

  it('with any of the owner’s keys', async () => {
    const owner = await createOwner(service.database, { limits: { perMinute: 3, perDay: AMPLE } });
    const other = await createKey(service.database, owner.id);
    const [first, second] = [
      asks(new ApiClient(service, owner.key)),
      asks(new ApiClient(service, other.key)),
    ];
    expect(limitsOf(await first()).remaining).toBe(2);
    expect(limitsOf(await second()).remaining).toBe(1);
    expect(limitsOf(await first()).remaining).toBe(0);
    expect((await second()).status).toBe(429);
  });

  it('for its own owner only', async () => {
    const [one, another] = [await newClient(1, AMPLE), await newClient(1, AMPLE)];
    expect((await sequentially(2, asks(one))).status).toBe(429);
    expect((await asks(another)()).status).toBe(404);
  });
});

const windows = [
  { window: 'minute', lengthMs: MINUTE_MS, perMinute: 2, perDay: AMPLE },
  { window: 'day', lengthMs: DAY_MS, perMinute: AMPLE, perDay: 2 },
];
describe.each(windows)('the window of a $window', ({ lengthMs, perMinute, perDay }) => {
  it('starts with the first request and ends one length later, to the millisecond', async () => {
    const ask = asks(await newClient(perMinute, perDay));
    await service.advance(123);
    const endsAtMs = service.nowMs() + lengthMs;
    await ask();
    await service.advance(lengthMs - 2);
    await ask();
    await service.setClock(endsAtMs - 1);
    const rejected = await ask();
    expect(rejected).toMatchObject({
      status: 429,
      json: { code: 'rate_limit_exceeded', status: 429 },
    });
    expect(limitsOf(rejected)).toEqual({
      limit: 2,
      remaining: 0,
      reset: Math.ceil(endsAtMs / 1000),
    });
    expect(rejected.headers['retry-after']).toBe('1');
    await service.setClock(endsAtMs);
    const next = await ask();
    expect(next.status).toBe(404);
    expect(limitsOf(next)).toEqual({
      limit: 2,
      remaining: 1,
      reset: Math.ceil((endsAtMs + lengthMs) / 1000),
    });
  });

  it('does not start when the previous one ends', async () => {
    const ask = asks(await newClient(perMinute, perDay));
    await ask();
    await service.advance(lengthMs + 17 * SECOND_MS + 1);
    const response = await ask();
    expect(limitsOf(response).reset).toBe(Math.ceil((service.nowMs() + lengthMs) / 1000));
  });

  it('has the same end in every response, including rejections', async () => {
    const ask = asks(await newClient(perMinute, perDay));
    const { reset } = limitsOf(await ask());
    for (let part = 0; part < 7; part++) {
      await service.advance(Math.floor(lengthMs / 8) + part);
      const response = await ask();
      expect(limitsOf(response).reset).toBe(reset);
      const left = reset - Math.floor(service.nowMs() / 1000);
      expect(left).toBeGreaterThan(0);
      if (response.status === 429)
        expect(Number(response.headers['retry-after'])).toBeGreaterThanOrEqual(left - 1);
    }
  });

  it('does not include rejected requests', async () => {
    const ask = asks(await newClient(perMinute, perDay));
    await sequentially(12, ask);
    await service.advance(lengthMs);
    expect(limitsOf(await ask()).remaining).toBe(1);
    expect((await sequentially(2, ask)).status).toBe(429);
  });
});

it('a request that the minute rejects is not counted in the day', async () => {
  const ask = asks(await newClient(1, 3));
  expect((await sequentially(10, ask)).headers['ratelimit']).toBe(
    '"minute";r=0;t=60, "day";r=2;t=86400',
  );
});

it('a request that the day rejects starts no minute', async () => {
  const ask = asks(await newClient(5, 1));
  await ask();
  await service.advance(MINUTE_MS + 10 * SECOND_MS);
  expect((await ask()).status).toBe(429);
  await service.advance(DAY_MS - MINUTE_MS - 10 * SECOND_MS - 1);
  const rejected = await ask();
  // If the previous rejection had started a minute, it would have less than 60 seconds left.
  expect(rejected.headers['ratelimit']).toBe('"minute";r=5;t=60, "day";r=0;t=1');
  await service.advance(1);
  expect((await ask()).headers['ratelimit']).toBe('"minute";r=4;t=60, "day";r=0;t=86400');
});

it('a rejected request starts no minute that ends after Retry-After', async () => {
  const ask = asks(await newClient(1, 2));
  await ask();
  await service.advance(MINUTE_MS);
  await ask();
  const rejected = await ask();
  await service.advance(Number(rejected.headers['retry-after']) * SECOND_MS);
  expect((await ask()).status).toBe(404);
});

describe('429', () => {
  it('has an Error body and Cache-Control: no-store', async () => {
    const response = await sequentially(2, asks(await newClient(1, AMPLE)));
    expect(response.json).toEqual({
      code: 'rate_limit_exceeded',
      message: 'Rate limit exceeded. Try again in 60 seconds.',
      status: 429,
    });
    expect(response.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'retry-after': '60',
    });
  });

  it.each(['GET', 'HEAD', 'POST', 'OPTIONS', 'DELETE'])(
    '%s /v1/pets › 429 before any other check',
    async (method) => {
      const client = await newClient(1, AMPLE);
      await client.get('/v1/nothing');
      const response = await client.send('/v1/pets?limit=0', { method });
      expect(response.status).toBe(429);
      expect(rateLimitHeaders(response)).toMatchObject({
        'x-ratelimit-remaining': '0',
        'retry-after': '60',
      });
    },
  );
});
