import { type ApiResponse, ApiClient } from '../../../harness/http/client.js';
import { createItems, createOwner } from '../../../harness/database/factories.js';
import { expectError } from '../../../harness/http/error-response.js';
import { useStore } from '../../../harness/http/store.js';
import { startService, type TestService } from '../../../harness/service/service.js';

const LIMIT_RULE = 'limit must be an integer from 1 to 100';
const STATUS_RULE = 'status must be one of available, pending, sold';
const TWICE = ', not several values';
const STATUSES = ['available', 'pending', 'sold'] as const;

const store = useStore();

const list = (query = '', headers = {}): Promise<ApiResponse> =>
  store.api.get(`/v1/items${query}`, headers);

/** Returns the path and query of the Link to the next page, if there is one. */
function nextPage({ headers }: ApiResponse): string | undefined {
  if (headers.link === undefined) return undefined;
  const next = /^<([^<>]+)>; rel="next"$/.exec(String(headers.link))![1]!;
  return next.replace(store.service.url, '');
}

/** The ids in the text. JSON.parse would round those greater than 2^53. */
const idsOf = ({ text }: ApiResponse): string[] =>
  [...text.matchAll(/"id":(-?\d+)/g)].map(([, id]) => id!);

/** Follows the Links from a page. Returns all ids. */
async function walk(
  path: string | undefined,
  { client = store.api, between = () => Promise.resolve() } = {},
): Promise<string[]> {
  const ids: string[] = [];
  for (let next = path; next;) {
    const page: ApiResponse = await client.get(next);
    expect(page.status).toBe(200);
    ids.push(...idsOf(page));
    next = nextPage(page);
    if (next) await between();
  }
  return ids;
}

/** Returns the ids that the database holds, in order. */
async function storedIds(status?: string): Promise<string[]> {
  const rows = await store.query<{ id: string }>(
    `SELECT id::text FROM test_items WHERE $1::text IS NULL OR status = $1 ORDER BY test_items.id`,
    [status ?? null],
  );
  return rows.map(({ id }) => id);
}

async function fill(count: number, status: (index: number) => (typeof STATUSES)[number]) {
  await store.database.empty('test_items');
  await createItems(store.service.database, count, status);
}

async function cursorOf(query: string): Promise<string> {
  const next = nextPage(await list(query)) ?? '';
  return new URLSearchParams(next.split('?')[1]).get('cursor')!;
}

describe('GET /v1/items', () => {
  beforeAll(() => fill(130, (index) => (index % 3 === 2 ? 'pending' : 'available')));

  it('200 with the members of an item, and none that it hides', async () => {
    const { text, headers } = await list('?limit=1');

    expect(text).toBe('[{"id":1,"name":"Item 1","categoryId":1,"status":"available"}]');
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'private, no-cache',
      vary: 'Authorization',
    });
  });

  it.each([1, 2, 19, 20, 21, 99, 100])('200 with as many items as limit=%i', async (limit) => {
    const response = await list(`?limit=${limit}`);

    expect([response.status, idsOf(response)]).toEqual([200, (await storedIds()).slice(0, limit)]);
  });

  it.each(['available', 'pending'])('200 with the items of status=%s only', async (status) => {
    const response = await list(`?status=${status}&limit=30`);

    expect(idsOf(response)).toEqual((await storedIds(status)).slice(0, 30));
    expect(response.json).toEqual(response.json.map((item: object) => ({ ...item, status })));
  });

  it('200 with an empty array and no Link when no item has the status', async () => {
    const { status, text, headers } = await list('?status=sold');

    expect([status, text, headers.link]).toEqual([200, '[]', undefined]);
  });

  it.each([
    '',
    '?',
    '?&&=&=5',
    '?color=black&color=red',
    '?limits=5&stat=lost',
    '?__proto__=x&constructor=y&toString=z',
    '?limit[0]=5&status[0]=lost',
  ])('200 with the first 20 items, unknown parameters ignored: %s', async (query) => {
    const response = await list(query);

    expect([response.status, idsOf(response)]).toEqual([200, (await storedIds()).slice(0, 20)]);
  });

  it.each([
    ['?Limit=2', 'Limit must be written as limit'],
    ['?limit[]=2', 'limit[] must be written as limit'],
    ['?STATUS=sold&limit=2', 'STATUS must be written as status'],
    ['?limit=0&CURSOR=x', `${LIMIT_RULE}; CURSOR must be written as cursor`],
  ])('400 that names the parameter that is meant: %s', async (query, message) => {
    expect(expectError(await list(query), 400, 'invalid_request')).toBe(`${message}.`);
  });

  it.each([
    ...'0 101 1000 99999999999999999999 -1 -0 05 00 +5 %2B5 abc 1.5 5.0 1e1 0x10 %205'.split(' '),
    ...'5%20 5%0A 5%00 1_0 %EF%BC%95 NaN Infinity null 5n 5,6 5&limit=5 5&limit='.split(' '),
    '',
  ])('400 invalid_request when limit=%s', async (limit) => {
    for (const query of [`?limit=${limit}`, `?${'a&'.repeat(1_500)}limit=${limit}`]) {
      const message = `${LIMIT_RULE}${limit.includes('&') ? TWICE : ''}.`;
      expect(expectError(await list(query), 400, 'invalid_request')).toBe(message);
    }
  });

  it.each([
    ...'lost Available SOLD available%20 %20sold sold%00 available,sold null undefined'.split(' '),
    '',
    '0',
    'sold&status=sold',
    'sold&status=pending',
  ])('400 invalid_request when status=%s', async (status) => {
    const response = await list(`?status=${status}`);
    const message = `${STATUS_RULE}${status.includes('&') ? TWICE : ''}.`;
    expect(expectError(response, 400, 'invalid_request')).toBe(message);
  });

  it('400 that lists every invalid parameter in order', async () => {
    const response = await list('?status=lost&cursor=lost&limit=0');
    const message = `${LIMIT_RULE}; ${STATUS_RULE}.`;
    expect(expectError(response, 400, 'invalid_request')).toBe(message);
  });
});

describe('GET /v1/items › walking by Link', () => {
  beforeAll(() => fill(150, (index) => STATUSES[index % 7 === 0 ? 2 : index % 2]!));

  it.each([1, 7, 20, 100])('visits each item once, in order: limit %i', async (limit) => {
    for (const status of [undefined, ...STATUSES]) {
      const expected = await storedIds(status);
      expect(expected.length).toBeGreaterThan(20);
      const path = `/v1/items?limit=${limit}${status ? `&status=${status}` : ''}`;
      expect(await walk(path)).toEqual(expected);
    }
  });

  it("continues years later, in another process, with another owner's API key", async () => {
    const { database } = store.service;
    const next = nextPage(await list('?status=pending&limit=9'));
    const nowMs = Date.parse('2040-01-01T00:00:00Z');
    const later = await startService({
      database,
      nowMs,
      env: { PUBLIC_URL: store.service.url },
    });

    const client = new ApiClient(later, (await createOwner(database)).key);
    // A cursor is not bound to the limit either.
    const ids = await walk(next?.replace('limit=9', 'limit=4'), { client });
    await later.close();
    expect(ids).toEqual((await storedIds('pending')).slice(9));
  });
});

describe('GET /v1/items › walking a changing store', () => {
  beforeEach(() => fill(30, (index) => STATUSES[index % 2]!));

  it.each([undefined, 'pending'])(
    'visits those added before once and those added during the walk at most once: status %s',
    async (status) => {
      const before = await storedIds(status);
      let added = 0;
      const between = async (): Promise<void> => {
        if (added++ < 10) await createItems(store.service.database, 2, (index) => STATUSES[index]!);
      };
      const ids = await walk(`/v1/items?limit=4${status ? `&status=${status}` : ''}`, { between });

      expect(ids.slice(0, before.length)).toEqual(before);
      expect(ids).toEqual(await storedIds(status));
    },
  );

  it('visits ids over the whole range of int64, exactly', async () => {
    const great = '9007199254740992 9007199254740993 9223372036854775806 9223372036854775807';
    await store.query(
      `INSERT INTO test_items (id, name, category_id, status) OVERRIDING SYSTEM VALUE
       SELECT id, 'Methuselah', 1, 'sold' FROM unnest($1::bigint[]) AS id`,
      [great.split(' ')],
    );

    expect(await walk('/v1/items?limit=1&status=sold')).toEqual(great.split(' '));
    expect((await walk('/v1/items?limit=1')).slice(-4)).toEqual(great.split(' '));
  });
});

describe('GET /v1/items › Link', () => {
  beforeAll(() => fill(40, (index) => (index < 20 ? 'available' : 'pending')));

  it.each([
    ['?limit=41', 40],
    ['?limit=40', 40],
    ['?status=pending', 20],
    ['?status=pending&limit=20', 20],
  ])('is absent on a page that holds all: %s', async (query, count) => {
    const { json, headers } = await list(query);

    expect([json.length, headers.link]).toEqual([count, undefined]);
  });

  it.each([
    ['', { limit: '20' }],
    ['?limit=39', { limit: '39' }],
    ['?status=available&limit=19', { limit: '19', status: 'available' }],
    ['?limit=7&color=red&status=pending&limits=3', { limit: '7', status: 'pending' }],
  ])('has the same filters and a cursor: %s', async (query, parameters) => {
    const [path, next] = nextPage(await list(query))!.split('?');

    const cursor = expect.stringMatching(/^[\w-]+$/) as unknown;
    expect(path).toBe('/v1/items');
    expect(Object.fromEntries(new URLSearchParams(next))).toEqual({ ...parameters, cursor });
  });

  /** Expects how the targets of Link headers begin, whatever the headers of the request are. PORT is that of the service. */
  async function expectBase(service: TestService, host: string, base: RegExp): Promise<void> {
    const address = `http://${host.includes(':') ? `[${host}]` : host}:${service.port}`;
    const forged = { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'https' };
    const targetOf = async (path: string, relation: string): Promise<string> => {
      const headers = {
        Authorization: `Bearer ${store.owner.key}`,
        Connection: 'close',
        ...forged,
      };
      const link = (await fetch(address + path, { headers })).headers.get('link') ?? '';
      const [, target = '', rel] = /^<([^<>]+)>; rel="([a-z-]+)"$/.exec(link) ?? [];
      expect([rel, target]).toEqual([relation, expect.stringContaining('/v1/items')]);
      return target.replace(String(service.port), 'PORT');
    };

    const [next = '', query = ''] = (await targetOf('/v1/items?limit=2', 'next')).split(
      '/v1/items?',
    );
    expect(next).toMatch(base);
    expect((await list(`?${query}`)).json.map(({ id }: { id: number }) => id)).toEqual([3, 4]);
    expect(await targetOf('/v1/items/1', 'successor-version')).toBe(`${next}/v1/items`);
    const warnings = service.logs().filter(({ msg }) => msg?.includes('PUBLIC_URL'));
    expect(warnings.map(({ level, msg }) => [level, msg])).toEqual(
      next === '' ? [[40, 'PUBLIC_URL is not set: the URLs in Link headers are relative']] : [],
    );
  }

  it('begins with the address of the service by default', () =>
    expectBase(store.service, '127.0.0.1', /^http:\/\/127\.0\.0\.1:PORT$/));

  it.each<[host: string, publicUrl: string | undefined, base: RegExp, trustProxy?: string]>([
    ['localhost', undefined, /^http:\/\/(?:127\.0\.0\.1|\[::1\]):PORT$/],
    // A balancer runs on the same machine.
    ['127.0.0.1', undefined, /^$/, '1'],
    ['127.0.0.1', undefined, /^$/, '10.0.0.0/8'],
    ['127.0.0.1', 'http://example.org:8080/store/', /^http:\/\/example\.org:8080\/store$/],
    ['0.0.0.0', undefined, /^$/],
  ])(
    'with HOST=%s and PUBLIC_URL=%s it begins with %s',
    async (host, publicUrl, base, trustProxy = '0') => {
      const env = {
        HOST: host,
        TRUST_PROXY: trustProxy,
        ...(publicUrl && { PUBLIC_URL: publicUrl }),
      };
      const service = await startService({ database: store.database, env });
      await expectBase(service, host, base);
      await service.close();
    },
  );

  it.each<Record<string, string>>([
    { Host: 'evil.example', Forwarded: 'host=evil.example;proto=https' },
    { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Prefix': '/evil' },
  ])('does not depend on other headers: %j', async (headers) => {
    const { link } = (await list('?limit=2')).headers;
    for (const target of ['/v1/items?limit=2', 'http://evil.example/v1/items?limit=2']) {
      expect((await store.api.get(target, headers)).headers.link).toBe(link);
    }
  });
});

describe('GET /v1/items › cursor', () => {
  beforeAll(() => fill(40, (index) => STATUSES[index % 3]!));

  const encoded = (text: string): string => Buffer.from(text).toString('base64url');
  const expectInvalid = async (query: string): Promise<void> => {
    expect(expectError(await list(query), 400, 'invalid_cursor')).toContain('cursor');
  };

  it.each(['', 'next', '20', '!!!', '%00', '%FF', 'M'.repeat(8_000)])(
    '400 invalid_cursor when it is %s, the first time and later',
    async (cursor) => {
      for (let time = 0; time < 2; time++) await expectInvalid(`?cursor=${cursor}`);
    },
  );

  it.each([
    'CURSORA',
    'CURSOR%3D',
    '%20CURSOR',
    'CURSOR&cursor=CURSOR',
    'CURSOR',
    'CUT&status=sold',
    'CURSOR&status=pending',
  ])('400 invalid_cursor when one of status=sold is changed to %s', async (change) => {
    const cursor = await cursorOf('?limit=5&status=sold');
    expect((await list(`?cursor=${cursor}&status=sold`)).status).toBe(200);
    const changed = change.replaceAll('CURSOR', cursor).replace('CUT', cursor.slice(0, -1));
    await expectInvalid(`?cursor=${changed}`);
  });

  it.each(['', 'sold'])('200 with a cursor of an earlier release, status "%s"', async (status) => {
    const filter = status && `&status=${status}`;
    const page = await list(`?limit=100&cursor=${encoded(`20:${status}`)}${filter}`);

    const ids = await storedIds(status || undefined);
    expect(idsOf(page)).toEqual(ids.filter((id) => Number(id) > 20));
  });

  it.each(['limit=0', 'limit=101', 'limit=x', 'status=lost', 'limit=1&limit=2'])(
    '400 invalid_request, not invalid_cursor, with %s',
    async (wrong) => {
      for (const cursor of [await cursorOf('?limit=1'), 'next']) {
        for (const query of [`?cursor=${cursor}&${wrong}`, `?${wrong}&cursor=${cursor}`]) {
          expectError(await list(query), 400, 'invalid_request');
        }
      }
    },
  );
});
