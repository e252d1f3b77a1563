import { unknownKey } from '../harness/database/api-keys.js';
import { type ApiResponse, send } from '../harness/http/client.js';
import { createKey, createOwner } from '../harness/database/factories.js';
import {
  inParallel,
  sequentially,
  rateLimitHeaders,
  limitsOf,
  MINUTE_MS,
} from '../harness/rate-limit/limits.js';
import { START_MS, startService, type TestService } from '../harness/service/service.js';

const LIMIT = 5;

let service: TestService;

beforeAll(async () => {
  service = await startService({
    env: { ANONYMOUS_REQUESTS_PER_MINUTE: String(LIMIT), TRUST_PROXY: '1' },
  });
});
afterAll(() => service.close());

interface RequestOptions {
  path?: string;
  method?: string;
  key?: string;
}

/** Sends requests of the client that the proxy reports with this address. */
function from(address: string): (options?: RequestOptions) => Promise<ApiResponse> {
  return ({ path = '/v1/pets', method = 'GET', key } = {}) =>
    send(service, path, {
      method,
      headers: { 'X-Forwarded-For': address, ...(key && { Authorization: `Bearer ${key}` }) },
    });
}

let addresses = 0;
/** Returns an address that no other test uses. */
function newAddress(): string {
  return `198.51.100.${++addresses}`;
}

describe('a request without a valid key', () => {
  it('401 with the limits of its address', async () => {
    const response = await from(newAddress())();
    expect(response.status).toBe(401);
    expect(rateLimitHeaders(response)).toEqual({
      'x-ratelimit-limit': '5',
      'x-ratelimit-remaining': '4',
      'x-ratelimit-reset': String((service.nowMs() + MINUTE_MS) / 1000),
      'ratelimit-policy': '"minute";q=5;w=60',
      ratelimit: '"minute";r=4;t=60',
    });
  });

  it('429 without WWW-Authenticate when the address has 0 remaining', async () => {
    const response = await sequentially(LIMIT + 1, from(newAddress()));
    expect(response).toMatchObject({
      status: 429,
      json: { code: 'rate_limit_exceeded', status: 429 },
    });
    expect(rateLimitHeaders(response)).toMatchObject({
      'x-ratelimit-limit': '5',
      'x-ratelimit-remaining': '0',
      ratelimit: '"minute";r=0;t=60',
      'retry-after': '60',
    });
    expect(response.headers['www-authenticate']).toBeUndefined();
  });

  it('429 until the minute that the first request started ends, and never a ban', async () => {
    const ask = from(newAddress());
    const endsAtMs = service.nowMs() + MINUTE_MS;
    await ask();
    await service.advance(30_000);
    for (let time = 0; time < 20; time++) await ask();
    await service.setClock(endsAtMs - 1);
    expect(await ask()).toMatchObject({ status: 429, json: { code: 'rate_limit_exceeded' } });
    await service.setClock(endsAtMs);
    expect(limitsOf(await ask())).toMatchObject({ limit: LIMIT, remaining: LIMIT - 1 });
    await service.setClock(Math.ceil(service.nowMs() / 1000) * 1000);
  });

  it('is counted once, whatever its route and its error', async () => {
    const ask = from(newAddress());
    const owner = await createOwner(service.database);
    const { key } = await createKey(service.database, owner.id, { revokedAtMs: START_MS });
    const requests: RequestOptions[] = [
      { method: 'POST' },
      { path: '/v1/nothing', key: 'malformed' },
      { path: '/nothing', key: unknownKey() },
      { path: '/v1/%ff', method: 'OPTIONS' },
      { method: 'HEAD', key },
    ];
    for (const [index, options] of requests.entries()) {
      const response = await ask(options);
      expect(response.status).toBe(401);
      expect(limitsOf(response).remaining).toBe(LIMIT - 1 - index);
    }
    for (const options of requests) expect((await ask(options)).status).toBe(429);
  });

  it('is counted for no owner, not even with a revoked key', async () => {
    const owner = await createOwner(service.database, { limits: { perMinute: 10, perDay: 100 } });
    const { key } = await createKey(service.database, owner.id, { revokedAtMs: START_MS });
    const ask = from(newAddress());
    expect(limitsOf(await ask({ key })).limit).toBe(LIMIT);
    expect(limitsOf(await ask({ key: owner.key }))).toMatchObject({ limit: 10, remaining: 9 });
  });

  it('401 for exactly 5 of 50 parallel requests', async () => {
    const ask = from(newAddress());
    const responses = await inParallel(50, ask);
    expect(responses.filter(({ status }) => status === 401)).toHaveLength(LIMIT);
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(50 - LIMIT);
  });
});

describe('a request with a valid key', () => {
  it('is allowed from an address that has 0 remaining', async () => {
    const { key } = await createOwner(service.database, { limits: { perMinute: 10, perDay: 100 } });
    const ask = from(newAddress());
    await sequentially(LIMIT + 1, ask);
    const response = await ask({ key });
    expect(response.status).toBe(200);
    expect(limitsOf(response)).toMatchObject({ limit: 10, remaining: 9 });
  });

  it('is not counted for its address', async () => {
    const { key } = await createOwner(service.database);
    const ask = from(newAddress());
    await sequentially(10, () => ask({ key }));
    expect(limitsOf(await ask()).remaining).toBe(LIMIT - 1);
  });
});

describe('the client address', () => {
  const one: [string, string][] = [
    ['203.0.113.1', '203.0.113.1'],
    ['203.0.113.2', '::ffff:203.0.113.2'],
    ['203.0.113.3', '::ffff:cb00:7103'],
    ['203.0.113.4', '8.8.8.8, 203.0.113.4'],
    ['203.0.113.5', '8.8.8.8,   203.0.113.5'],
    ['203.0.113.6', '203.0.113.6, , '],
    ['2001:db8:0:1::1', '2001:db8:0:1::2'],
    ['2001:db8:0:2::', '2001:db8:0:2:ffff:ffff:ffff:ffff'],
    ['2001:db8:0:3::1', '2001:DB8:0000:0003:0:0:0:1'],
    ['2001:db8:0:4:1:2:3:4', '2001:db8:0:4::'],
    ['2001:db8:0:5::1', '2001:db8:0:5::203.0.113.1'],
    ['fe80::1', 'fe80::1%eth0'],
  ];
  it.each(one)('%s and %s share a budget', async (address, same) => {
    expect(limitsOf(await from(address)()).remaining).toBe(LIMIT - 1);
    expect(limitsOf(await from(same)()).remaining).toBe(LIMIT - 2);
  });

  const two: [string, string][] = [
    ['192.0.2.1', '192.0.2.2'],
    ['2001:db8:1:1::1', '2001:db8:1:2::1'],
    ['2001:db8:1:3:ffff::', '2001:db8:1:4::'],
    ['2001:db8:2::', '2001:db8:3::'],
    ['::ffff:192.0.2.3', '::ffff:192.0.2.4'],
    ['192.0.2.5', '8.8.8.8, 192.0.2.6'],
    ['192.0.2.7', '192.0.2.7, 192.0.2.8'],
  ];
  it.each(two)('%s and %s have separate budgets', async (address, other) => {
    expect(limitsOf(await from(address)()).remaining).toBe(LIMIT - 1);
    expect(limitsOf(await from(other)()).remaining).toBe(LIMIT - 1);
  });

  const garbage = [
    '',
    ',',
    'unknown',
    '_hidden',
    '999.1.1.1',
    '1.2.3',
    '1.2.3.4:5678',
    '[2001:db8::1]:80',
    '2001:db8::g',
    '1.2.3.4, nonsense',
    'x'.repeat(5_000),
  ];
  it.each(garbage)('an invalid address (%j) is counted for the proxy', async (address) => {
    await service.advance(MINUTE_MS);
    expect(limitsOf(await send(service, '/v1/pets')).remaining).toBe(LIMIT - 1);
    expect(limitsOf(await from(address)()).remaining).toBe(LIMIT - 2);
  });
});
