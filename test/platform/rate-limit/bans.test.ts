import { type ApiResponse, ApiClient } from '../../harness/http/client.js';
import { createKey, createOwner, type TestOwner } from '../../harness/database/factories.js';
import { expectError } from '../../harness/http/error-response.js';
import { useStore } from '../../harness/http/store.js';
import {
  DAY_MS,
  limitsOf,
  MINUTE_MS,
  rateLimitHeaders,
  SECOND_MS,
  sequentially,
} from '../../harness/rate-limit/limits.js';
import { startService } from '../../harness/service/service.js';

const BAN_MS = 5 * MINUTE_MS;
const AMPLE = 100_000;
const ALLOWED = 'route_not_found';
const REJECTED = 'rate_limit_exceeded';
const BANNED = 'api_key_banned';

type Ask = () => Promise<ApiResponse>;

const store = useStore();
const { service } = store;
// Every test starts at a whole second.
beforeEach(() => service.setClock(Math.ceil(service.nowMs() / 1000) * 1000));

const newOwner = (perMinute: number, perDay = AMPLE): Promise<TestOwner> =>
  createOwner(store.database, { limits: { perMinute, perDay } });

/** Creates a key of the same owner, by rotation or not. */
async function anotherKey({ id, keyId }: TestOwner, { rotated = false } = {}): Promise<string> {
  return (await createKey(store.database, id, rotated ? { firstKeyId: keyId } : {})).key;
}

/** Sends requests one after the other. Returns the codes of the responses. */
async function outcomes(times: number, ask: Ask): Promise<string[]> {
  const codes: string[] = [];
  for (let time = 0; time < times; time++) codes.push((await ask()).json.code);
  return codes;
}

const many = (times: number, code: string): string[] => Array<string>(times).fill(code);

it.each<[plan: string, limit: number, create: () => Promise<TestOwner>]>([
  ['a limit of 1', 1, () => newOwner(1)],
  ['a limit of 7', 7, () => newOwner(7)],
  ['the plan Free', 60, () => createOwner(store.database, { plan: 'free' })],
])(
  'as many rejections in a minute as the plan allows requests start a ban, with one log line: %s',
  async (_, limit, create) => {
    const owner = await create();
    expect(await outcomes(2 * limit + 3, store.asks(owner.key))).toEqual([
      ...many(limit, ALLOWED),
      ...many(limit - 1, REJECTED),
      ...many(4, BANNED),
    ]);
    const ofBan = ({ keyId, msg }: { keyId?: unknown; msg?: string }): boolean =>
      msg !== 'request' && keyId === owner.keyId;
    await service.waitForLog(ofBan);
    expect(service.logs().filter(ofBan)).toEqual([
      expect.objectContaining({
        level: 40,
        msg: 'API key banned',
        ownerId: owner.id,
        bannedUntil: new Date(service.nowMs() + BAN_MS).toISOString(),
      }),
    ]);
  },
);

it('429 api_key_banned with the end of the ban, five minutes after the rejection that started it, despite further requests', async () => {
  const ask = store.asks((await newOwner(3, 10)).key);
  await sequentially(5, ask);
  await service.advance(1_001);
  const endsAtMs = service.nowMs() + BAN_MS;
  const response = await ask();
  expect(expectError(response, 429, BANNED)).toBe(
    'This API key is temporarily banned because it kept sending requests over its rate limit. Try again in 300 seconds.',
  );
  expect(rateLimitHeaders(response)).toEqual({
    'x-ratelimit-limit': '3',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String(Math.ceil(endsAtMs / 1000)),
    'ratelimit-policy': '"minute";q=3;w=60, "day";q=10;w=86400',
    ratelimit: '"minute";r=0;t=300, "day";r=0;t=300',
    'retry-after': '300',
  });
  for (let part = 1; part < 10; part++) {
    await service.advance(BAN_MS / 10);
    const later = await sequentially(3, ask);
    expectError(later, 429, BANNED);
    expect(limitsOf(later)).toEqual(limitsOf(response));
    expect(Number(later.headers['retry-after'])).toBe((endsAtMs - service.nowMs()) / 1000);
  }
  await service.setClock(endsAtMs - 1);
  expect((await ask()).headers['retry-after']).toBe('1');
  await service.setClock(endsAtMs);
  // The requests during the ban were counted in no window, and rejections are counted from 0.
  expect((await ask()).headers['ratelimit']).toBe('"minute";r=2;t=60, "day";r=6;t=86099');
  const codes = [ALLOWED, ALLOWED, REJECTED, REJECTED, BANNED];
  expect(await outcomes(5, ask)).toEqual(codes);
});

it('the headers report an exceeded day that ends after the ban', async () => {
  const ask = store.asks((await newOwner(2, 1)).key);
  const startMs = service.nowMs();
  await ask();
  const response = await sequentially(2, ask);
  expectError(response, 429, BANNED);
  expect(rateLimitHeaders(response)).toEqual({
    'x-ratelimit-limit': '2',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String((startMs + DAY_MS) / 1000),
    'ratelimit-policy': '"minute";q=2;w=60, "day";q=1;w=86400',
    ratelimit: '"minute";r=0;t=300, "day";r=0;t=86400',
    'retry-after': '86400',
  });
  await service.advance(BAN_MS);
  expect(await outcomes(1, ask)).toEqual([REJECTED]);
});

it('neither the ban nor the rejections of a key apply to the owner’s other keys', async () => {
  const owner = await newOwner(3);
  const other = store.asks(await anotherKey(owner));
  await sequentially(5, store.asks(owner.key));
  expect(await outcomes(2, other)).toEqual([REJECTED, REJECTED]);
  expect(await outcomes(1, store.asks(owner.key))).toEqual([BANNED]);
  await service.advance(MINUTE_MS);
  expect(await outcomes(1, other)).toEqual([ALLOWED]);
  expect(await outcomes(1, store.asks(owner.key))).toEqual([BANNED]);
});

it('keys created by rotation share one count of rejections, and pass the ban on to the key that they replace', async () => {
  const owner = await newOwner(3);
  const successor = store.asks(await anotherKey(owner, { rotated: true }));
  await sequentially(4, store.asks(owner.key));
  expect(await outcomes(2, successor)).toEqual([REJECTED, BANNED]);
  expect(await outcomes(1, store.asks(owner.key))).toEqual([BANNED]);
});

it('an unban resets the count of rejections of the whole lineage, and does not prevent another ban', async () => {
  const owner = await newOwner(5, 1);
  const ask = store.asks(owner.key);
  const other = store.asks(await anotherKey(owner, { rotated: true }));
  expect(await outcomes(6, ask)).toEqual([ALLOWED, ...many(4, REJECTED), BANNED]);
  expect(await outcomes(1, other)).toEqual([BANNED]);
  await store.query(
    'UPDATE api_keys SET unban_count = unban_count + 1 WHERE id = $1 OR first_key_id = $1',
    [owner.keyId],
  );
  await service.advance(5 * SECOND_MS);
  expect(await outcomes(1, ask)).toEqual([REJECTED]);
  expect(await outcomes(4, other)).toEqual([REJECTED, REJECTED, REJECTED, BANNED]);
  expect(await outcomes(1, ask)).toEqual([BANNED]);
});

const NO_BAN: [codes: string[], rateLimit: string] = [
  [...many(3, ALLOWED), ...many(6, REJECTED)],
  '"minute";r=0;t=60, "day";r=99997;t=86400',
];

it.each<[env: Record<string, string>, codes: string[], rateLimit: string]>([
  [
    { BAN_AFTER_REJECTIONS: '2', BAN_SECONDS: '7' },
    [...many(3, ALLOWED), REJECTED, ...many(2, BANNED)],
    // The limit of the minute is exceeded until after the ban.
    '"minute";r=0;t=60, "day";r=0;t=7',
  ],
  [{ BAN_AFTER_REJECTIONS: '0' }, ...NO_BAN],
  [{ BAN_SECONDS: '0' }, ...NO_BAN],
])('with %j, rejections lead to a ban accordingly', async (env, codes, rateLimit) => {
  const other = await startService({ database: store.database, env });
  const client = new ApiClient(other, (await newOwner(3)).key);
  const ask: Ask = () => client.get('/v1/nothing');
  expect(await outcomes(codes.length, ask)).toEqual(codes);
  expect((await ask()).headers).toMatchObject({ ratelimit: rateLimit, 'retry-after': '60' });
  await other.advance(7 * SECOND_MS);
  expect(await outcomes(1, ask)).toEqual([REJECTED]);
  await other.close();
});
