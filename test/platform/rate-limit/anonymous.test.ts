import { unknownKey } from '../../harness/database/api-keys.js';
import { createKey, createOwner } from '../../harness/database/factories.js';
import { type ApiResponse, send } from '../../harness/http/client.js';
import { expectError } from '../../harness/http/error-response.js';
import { useStore } from '../../harness/http/store.js';
import {
  inParallel,
  limitsOf,
  MINUTE_MS,
  rateLimitHeaders,
  sequentially,
} from '../../harness/rate-limit/limits.js';
import { START_MS, startService } from '../../harness/service/service.js';

const LIMIT = 5;

const store = useStore({ env: { ANONYMOUS_REQUESTS_PER_MINUTE: String(LIMIT), TRUST_PROXY: '1' } });

interface RequestOptions {
  path?: string;
  method?: string;
  key?: string;
}

/** Sends requests of the client that the proxy reports with this address. */
function from(address: string): (options?: RequestOptions) => Promise<ApiResponse> {
  return ({ path = '/v1/items', method = 'GET', key } = {}) =>
    send(store.service, path, {
      method,
      headers: { 'X-Forwarded-For': address, ...(key && { Authorization: `Bearer ${key}` }) },
    });
}

let addresses = 0;
const newAddress = (): string => `198.51.100.${++addresses}`;

describe('a request without a valid key', () => {
  it('401 with the limits of its address, then 429, until the minute that it started ends, and never a ban', async () => {
    const ask = from(newAddress());
    const endsAtMs = store.service.nowMs() + MINUTE_MS;
    const first = await ask();
    expectError(first, 401, 'missing_api_key');
    expect(rateLimitHeaders(first)).toEqual({
      'x-ratelimit-limit': '5',
      'x-ratelimit-remaining': '4',
      'x-ratelimit-reset': String(endsAtMs / 1000),
      'ratelimit-policy': '"minute";q=5;w=60',
      ratelimit: '"minute";r=4;t=60',
    });
    await store.service.advance(30_000);
    await sequentially(20, ask);
    await store.service.setClock(endsAtMs - 1);
    const rejected = await ask();
    expectError(rejected, 429, 'rate_limit_exceeded');
    expect(rateLimitHeaders(rejected)).toMatchObject({
      'x-ratelimit-limit': '5',
      'x-ratelimit-remaining': '0',
      ratelimit: '"minute";r=0;t=1',
      'retry-after': '1',
    });
    expect(rejected.headers['www-authenticate']).toBeUndefined();
    await store.service.setClock(endsAtMs);
    expect(limitsOf(await ask())).toMatchObject({ limit: LIMIT, remaining: LIMIT - 1 });
  });

  it('is counted once for its address and for no owner, whatever its route, its key and its error', async () => {
    const ask = from(newAddress());
    const owner = await createOwner(store.database, { limits: { perMinute: 10, perDay: 100 } });
    const { key } = await createKey(store.database, owner.id, { revokedAtMs: START_MS });
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
      expect(limitsOf(response)).toMatchObject({ limit: LIMIT, remaining: LIMIT - 1 - index });
    }
    for (const options of requests) expect((await ask(options)).status).toBe(429);
    // A valid API key is allowed from an address with 0 remaining, and counted for its owner.
    const valid = await ask({ key: owner.key });
    expect(valid.status).toBe(200);
    expect(limitsOf(valid)).toMatchObject({ limit: 10, remaining: 9 });
  });

  it('401 for exactly 5 of 50 parallel requests', async () => {
    const statuses = (await inParallel(50, from(newAddress()))).map(({ status }) => status);
    expect(statuses.sort()).toEqual([...Array(5).fill(401), ...Array(45).fill(429)]);
  });
});

describe('the client address', () => {
  it.each([
    ['203.0.113.1', '203.0.113.1', 'one budget'],
    ['203.0.113.2', '::ffff:203.0.113.2', 'one budget'],
    ['203.0.113.4', '8.8.8.8, 203.0.113.4', 'one budget'],
    ['2001:db8:0:1::1', '2001:db8:0:1::2', 'one budget'],
    ['2001:db8:0:2::', '2001:db8:0:2:ffff:ffff:ffff:ffff', 'one budget'],
    ['fe80::1', 'fe80::1%eth0', 'one budget'],
    ['192.0.2.1', '192.0.2.2', 'two budgets'],
    ['2001:db8:1:1::1', '2001:db8:1:2::1', 'two budgets'],
    ['::ffff:192.0.2.3', '::ffff:192.0.2.4', 'two budgets'],
    ['192.0.2.5', '8.8.8.8, 192.0.2.6', 'two budgets'],
  ])('%s and %s have %s', async (address, other, budgets) => {
    expect(limitsOf(await from(address)()).remaining).toBe(LIMIT - 1);
    const used = budgets === 'one budget' ? 2 : 1;
    expect(limitsOf(await from(other)()).remaining).toBe(LIMIT - used);
  });

  it.each(['', 'unknown', '999.1.1.1', '1.2.3.4:x', '1.2.3.4, nonsense', 'x'.repeat(5_000)])(
    'an invalid address (%j) is counted for the proxy',
    async (address) => {
      await store.service.advance(MINUTE_MS);
      expect(limitsOf(await store.anonymous.get('/v1/items')).remaining).toBe(LIMIT - 1);
      expect(limitsOf(await from(address)()).remaining).toBe(LIMIT - 2);
    },
  );

  it.each([
    ['in one header', (addresses: string[]) => addresses.join(', ')],
    ['in several headers', (addresses: string[]) => [addresses[0]!, addresses.slice(1).join(',')]],
  ])('of 16 addresses %s counts; with more, that of the proxy', async (_title, write) => {
    const ask = async (first: string, client: string, count: number) => {
      const addresses = [...Array<string>(count - 1).fill(first), client];
      const headers = { 'X-Forwarded-For': write(addresses) };
      return limitsOf(await send(store.service, '/v1/items', { headers })).remaining;
    };
    await store.service.advance(MINUTE_MS);
    for (const first of ['10.0.0.1', 'fc00::1', 'unknown', '']) {
      expect(await ask(first, newAddress(), 16)).toBe(LIMIT - 1);
    }
    for (const [used, first] of ['10.0.0.1', 'fc00::1', 'unknown', ''].entries()) {
      expect(await ask(first, newAddress(), 17)).toBe(LIMIT - 1 - used);
    }
    expect(limitsOf(await store.anonymous.get('/v1/items')).remaining).toBe(LIMIT - 5);
  });

  it.each<[trustProxy: string, rows: [addresses: string, remaining: number][]]>([
    // By default, the address is that of the socket.
    [
      '0',
      [
        ['203.0.113.1', 299],
        ['203.0.113.2, 127.0.0.1', 298],
      ],
    ],
    // The address is the one that the second-to-last proxy reports.
    [
      '2',
      [
        ['203.0.113.1, 10.0.0.1', 299],
        ['203.0.113.1, 10.0.0.2', 298],
        ['203.0.113.9, 203.0.113.1, 10.0.0.1', 297],
        ['203.0.113.1, 203.0.113.9, 10.0.0.1', 299],
      ],
    ],
    // The address is the last one that is not a proxy's.
    [
      '127.0.0.1,10.0.0.0/8',
      [
        ['203.0.113.1', 299],
        ['203.0.113.1, 10.0.0.1', 298],
        ['203.0.113.1, 10.0.0.1, 10.255.0.1', 297],
        ['203.0.113.9:51234, 10.0.0.1:443', 299],
        ['203.0.113.9:1', 298],
        ['203.0.113.9', 297],
        ['[2001:db8::1]:443, 10.0.0.1', 299],
        ['2001:db8::1', 298],
        ['[2001:db8::1]', 297],
        ['203.0.113.1, 192.0.2.1, 10.0.0.1', 299],
        [`203.0.113.1${', 10.0.0.1'.repeat(15)}`, 296],
        [`203.0.113.1${', 10.0.0.1'.repeat(16)}`, 299],
        ['10.0.0.1,'.repeat(800), 298],
      ],
    ],
  ])('with TRUST_PROXY=%s, X-Forwarded-For counts as far as it allows', async (trusted, rows) => {
    const env = trusted === '0' ? {} : { TRUST_PROXY: trusted };
    const service = await startService({ database: store.database, env });
    for (const [addresses, remaining] of rows) {
      const headers = { 'X-Forwarded-For': addresses };
      expect(limitsOf(await send(service, '/v1/items', { headers })).remaining).toBe(remaining);
    }
    const other = { 'X-Real-IP': '203.0.113.3', Forwarded: 'for=203.0.113.4' };
    const before = limitsOf(await send(service, '/v1/items'));
    const after = limitsOf(await send(service, '/v1/items', { headers: other }));
    expect(after).toEqual({ ...before, limit: 300, remaining: before.remaining - 1 });
    await service.close();
  });
});
