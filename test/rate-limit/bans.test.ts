import { type ApiResponse, ApiClient } from '../harness/http/client.js';
import { createKey, createOwner, type TestOwner } from '../harness/database/factories.js';
import {
  askUntil,
  DAY_MS,
  sequentially,
  rateLimitHeaders,
  limitsOf,
  MINUTE_MS,
  notifyChange,
  SECOND_MS,
} from '../harness/rate-limit/limits.js';
import { startService, type TestService } from '../harness/service/service.js';

const BAN_MS = 5 * MINUTE_MS;
const AMPLE = 100_000;

let service: TestService;

/** Sends a request that does not read animals. */
function asks(key: string): () => Promise<ApiResponse> {
  const client = new ApiClient(service, key);
  return () => client.get('/v1/nothing');
}

function newOwner(perMinute: number, perDay = AMPLE): Promise<TestOwner> {
  return createOwner(service.database, { limits: { perMinute, perDay } });
}

/** Sends requests one after the other. Returns the codes of the responses. */
async function outcomes(times: number, ask: () => Promise<ApiResponse>): Promise<string[]> {
  const codes: string[] = [];
  for (let time = 0; time < times; time++) codes.push((await ask()).json.code);
  return codes;
}

const ALLOWED = 'route_not_found';
const REJECTED = 'rate_limit_exceeded';
const BANNED = 'api_key_banned';

describe('by default', () => {
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.close());
  // Every test starts at a whole second.
  beforeEach(() => service.setClock(Math.ceil(service.nowMs() / 1000) * 1000));

  it('the start of a ban is a separate log line', async () => {
    const owner = await newOwner(2);
    await outcomes(6, asks(owner.key));
    await service.waitForLog(({ keyId, msg }) => msg !== 'request' && keyId === owner.keyId);
    const lines = service
      .logs()
      .filter(({ keyId, msg }) => msg !== 'request' && keyId === owner.keyId);
    expect(lines).toEqual([
      expect.objectContaining({
        level: 40,
        msg: 'API key banned',
        ownerId: owner.id,
        plan: 'enterprise',
        bannedUntil: new Date(service.nowMs() + BAN_MS).toISOString(),
      }),
    ]);
  });

  it.each([1, 2, 3, 7])(
    'as many rejections in a minute as the plan allows requests start a ban: %i',
    async (perMinute) => {
      const owner = await newOwner(perMinute);
      expect(await outcomes(2 * perMinute + 3, asks(owner.key))).toEqual([
        ...Array(perMinute).fill(ALLOWED),
        ...Array(perMinute - 1).fill(REJECTED),
        ...Array(4).fill(BANNED),
      ]);
    },
  );

  it('the 60th rejection in a minute bans a key of plan Free', async () => {
    const ask = asks((await createOwner(service.database, { plan: 'free' })).key);
    expect(await outcomes(120, ask)).toEqual([
      ...Array(60).fill(ALLOWED),
      ...Array(59).fill(REJECTED),
      BANNED,
    ]);
  });

  it('429 api_key_banned with the end of the ban', async () => {
    const ask = asks((await newOwner(3)).key);
    await sequentially(5, ask);
    await service.advance(1_001);
    const response = await ask();
    expect(response).toMatchObject({
      status: 429,
      json: {
        code: BANNED,
        message:
          'This API key is temporarily banned because it kept sending requests over its rate limit. Try again in 300 seconds.',
        status: 429,
      },
    });
    expect(rateLimitHeaders(response)).toEqual({
      'x-ratelimit-limit': '3',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(Math.ceil((service.nowMs() + BAN_MS) / 1000)),
      'ratelimit-policy': `"minute";q=3;w=60, "day";q=${AMPLE};w=86400`,
      ratelimit: '"minute";r=0;t=300, "day";r=0;t=300',
      'retry-after': '300',
    });
  });

  it('a ban ends five minutes after the rejection that started it, despite further requests', async () => {
    const ask = asks((await newOwner(2)).key);
    await sequentially(3, ask);
    await service.advance(20 * SECOND_MS);
    const { reset } = limitsOf(await ask());
    const endsAtMs = service.nowMs() + BAN_MS;
    for (let part = 1; part < 10; part++) {
      await service.advance(BAN_MS / 10);
      const response = await sequentially(3, ask);
      expect(response.json.code).toBe(BANNED);
      expect(limitsOf(response).reset).toBe(reset);
      expect(Number(response.headers['retry-after'])).toBe((endsAtMs - service.nowMs()) / 1000);
    }
    await service.setClock(endsAtMs - 1);
    expect((await ask()).headers['retry-after']).toBe('1');
    await service.setClock(endsAtMs);
    expect((await ask()).status).toBe(404);
  });

  it('after the ban, requests and rejections are counted from 0', async () => {
    const ask = asks((await newOwner(2)).key);
    const twice = [ALLOWED, ALLOWED, REJECTED, BANNED];
    expect(await outcomes(4, ask)).toEqual(twice);
    await service.advance(BAN_MS);
    expect(await outcomes(4, ask)).toEqual(twice);
  });

  it('a request during a ban is counted in no window', async () => {
    const ask = asks((await newOwner(2, 10)).key);
    await sequentially(9, ask);
    await service.advance(BAN_MS);
    expect((await ask()).headers['ratelimit']).toBe('"minute";r=1;t=60, "day";r=7;t=86100');
  });

  const minutes: [string, number[], string][] = [
    ['the last millisecond of the minute', [10, 11, 69.999], BANNED],
    ['the next minute', [10, 11, 70], REJECTED],
    ['a sliding minute', [10, 65, 70, 71], REJECTED],
    ['the following minute, counted from 0', [10, 65, 70, 71, 129.999], BANNED],
  ];
  it.each(minutes)(
    'rejections are counted in a fixed minute that starts with the first: %s',
    async (_, seconds, code) => {
      const ask = asks((await newOwner(3, 1)).key);
      const startMs = service.nowMs();
      await ask();
      const codes: string[] = [];
      for (const second of seconds) {
        await service.setClock(startMs + second * SECOND_MS);
        codes.push((await ask()).json.code);
      }
      expect(codes).toEqual([...Array(seconds.length - 1).fill(REJECTED), code]);
    },
  );

  it('allowed requests in between do not reset the count of rejections', async () => {
    const ask = asks((await newOwner(4)).key);
    const startMs = service.nowMs();
    await sequentially(4, ask);
    await service.setClock(startMs + 59_000);
    expect(await outcomes(2, ask)).toEqual([REJECTED, REJECTED]);
    await service.setClock(startMs + 60_000);
    expect(await outcomes(6, ask)).toEqual([...Array(4).fill(ALLOWED), REJECTED, BANNED]);
  });

  it('the headers report an exceeded day that ends after the ban', async () => {
    const ask = asks((await newOwner(2, 1)).key);
    const startMs = service.nowMs();
    await ask();
    const response = await sequentially(2, ask);
    expect(response.json.code).toBe(BANNED);
    expect(rateLimitHeaders(response)).toEqual({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String((startMs + DAY_MS) / 1000),
      'ratelimit-policy': '"minute";q=2;w=60, "day";q=1;w=86400',
      ratelimit: '"minute";r=0;t=300, "day";r=0;t=86400',
      'retry-after': '86400',
    });
    await service.advance(BAN_MS);
    expect((await ask()).json.code).toBe(REJECTED);
  });

  it('the headers report the ban if an exceeded day ends before it', async () => {
    const ask = asks((await newOwner(1, 1)).key);
    await ask();
    await service.advance(DAY_MS - 100 * SECOND_MS);
    const response = await ask();
    expect(response.json.code).toBe(BANNED);
    expect(response.headers['retry-after']).toBe('300');
    expect(response.headers['ratelimit']).toBe('"minute";r=0;t=300, "day";r=0;t=300');
  });

  it('a ban applies to the key, not to the owner’s other keys', async () => {
    const owner = await newOwner(2);
    const other = asks((await createKey(service.database, owner.id)).key);
    const ask = asks(owner.key);
    await sequentially(4, ask);
    expect(await outcomes(1, other)).toEqual([REJECTED]);
    await service.advance(MINUTE_MS);
    expect(await outcomes(2, ask)).toEqual([BANNED, BANNED]);
    expect(limitsOf(await other())).toMatchObject({ limit: 2, remaining: 1 });
  });

  it('rejections of the owner’s other keys do not count', async () => {
    const owner = await newOwner(3);
    const other = asks((await createKey(service.database, owner.id)).key);
    await sequentially(5, asks(owner.key));
    expect(await outcomes(2, other)).toEqual([REJECTED, REJECTED]);
    expect(await outcomes(1, asks(owner.key))).toEqual([BANNED]);
  });

  describe('keys created by rotation', () => {
    it('inherit the ban, however often they are rotated', async () => {
      const owner = await newOwner(1);
      await sequentially(2, asks(owner.key));
      for (let time = 0; time < 2; time++) {
        const { key } = await createKey(service.database, owner.id, { firstKeyId: owner.keyId });
        const response = await asks(key)();
        expect(response.json.code).toBe(BANNED);
        expect(response.headers['retry-after']).toBe('300');
      }
    });

    it('pass the ban on to the key that they replace', async () => {
      const owner = await newOwner(1);
      const successor = await createKey(service.database, owner.id, { firstKeyId: owner.keyId });
      await sequentially(2, asks(successor.key));
      expect(await outcomes(1, asks(owner.key))).toEqual([BANNED]);
    });

    it('share one count of rejections', async () => {
      const owner = await newOwner(3);
      const successor = await createKey(service.database, owner.id, { firstKeyId: owner.keyId });
      await sequentially(4, asks(owner.key));
      expect(await outcomes(2, asks(successor.key))).toEqual([REJECTED, BANNED]);
    });
  });

  describe('an unban', () => {
    async function unban(owner: TestOwner): Promise<void> {
      await service.database.query(
        'UPDATE api_keys SET unban_count = unban_count + 1 WHERE id = $1 OR first_key_id = $1',
        [owner.keyId],
      );
      await notifyChange(service.database, owner.id);
    }

    it('takes effect at once and keeps the windows', async () => {
      const owner = await newOwner(2, 10);
      const ask = asks(owner.key);
      await sequentially(4, ask);
      await service.advance(MINUTE_MS);
      await unban(owner);
      const { response } = await askUntil(ask, ({ status }) => status === 404);
      expect(response.headers['ratelimit']).toBe('"minute";r=1;t=60, "day";r=7;t=86340');
    });

    it('resets the count of rejections of the whole lineage', async () => {
      const owner = await newOwner(5, 1);
      const successor = await createKey(service.database, owner.id, { firstKeyId: owner.keyId });
      const [ask, other] = [asks(owner.key), asks(successor.key)];
      expect(await outcomes(6, ask)).toEqual([ALLOWED, ...Array(4).fill(REJECTED), BANNED]);
      expect(await outcomes(1, other)).toEqual([BANNED]);
      await unban(owner);
      await askUntil(ask, ({ json }) => json.code === REJECTED);
      await service.advance(5 * SECOND_MS);
      expect(await outcomes(4, other)).toEqual([REJECTED, REJECTED, REJECTED, BANNED]);
      expect(await outcomes(1, ask)).toEqual([BANNED]);
    });

    it('does not prevent another ban', async () => {
      const owner = await newOwner(1, 1);
      const ask = asks(owner.key);
      await sequentially(2, ask);
      await unban(owner);
      await service.advance(5 * SECOND_MS);
      const response = await ask();
      expect(response.json.code).toBe(BANNED);
      expect(response.headers['ratelimit']).toContain('"minute";r=0;t=300');
    });
  });
});

const settings = [
  {
    title: 'BAN_AFTER_REJECTIONS=2 and BAN_SECONDS=7',
    env: { BAN_AFTER_REJECTIONS: '2', BAN_SECONDS: '7' },
    codes: [ALLOWED, ALLOWED, ALLOWED, REJECTED, BANNED, BANNED],
    // The limit of the minute is exceeded until after the ban.
    rateLimit: '"minute";r=0;t=60, "day";r=0;t=7',
    afterBan: REJECTED,
  },
  {
    title: 'BAN_AFTER_REJECTIONS=0',
    env: { BAN_AFTER_REJECTIONS: '0' },
    codes: [ALLOWED, ALLOWED, ALLOWED, ...Array(6).fill(REJECTED)],
    rateLimit: '"minute";r=0;t=60, "day";r=99997;t=86400',
    afterBan: REJECTED,
  },
  {
    title: 'BAN_SECONDS=0',
    env: { BAN_SECONDS: '0' },
    codes: [ALLOWED, ALLOWED, ALLOWED, ...Array(6).fill(REJECTED)],
    rateLimit: '"minute";r=0;t=60, "day";r=99997;t=86400',
    afterBan: REJECTED,
  },
];
describe.each(settings)('with $title', ({ env, codes, rateLimit, afterBan }) => {
  beforeAll(async () => {
    service = await startService({ env });
  });
  afterAll(() => service.close());

  it('rejections lead to a ban accordingly', async () => {
    const ask = asks((await newOwner(3)).key);
    expect(await outcomes(codes.length, ask)).toEqual(codes);
    const response = await ask();
    expect(response.headers).toMatchObject({ ratelimit: rateLimit, 'retry-after': '60' });
    await service.advance(7 * SECOND_MS);
    expect(await outcomes(1, ask)).toEqual([afterBan]);
  });
});
