import { type ApiResponse, ApiClient } from '../harness/http/client.js';
import { createOwner, createPets } from '../harness/database/factories.js';
import { startService, type TestService } from '../harness/service/service.js';

let service: TestService;
let key: string;
let api: ApiClient;

beforeAll(async () => {
  service = await startService();
  ({ key } = await createOwner(service.database));
  api = new ApiClient(service, key);
});

afterAll(() => service.close());

const STATUSES = ['available', 'pending', 'sold'] as const;

/** Returns the reference of the Link to the next page, if there is one. */
function nextPage({ headers }: ApiResponse): string | undefined {
  if (headers.link === undefined) return undefined;
  return /^<([^<>]+)>; rel="next"$/.exec(String(headers.link))![1];
}

/** The ids in the text. JSON.parse would round those greater than 2^53. */
const idsOf = ({ text }: ApiResponse): string[] =>
  [...text.matchAll(/"id":(-?\d+)/g)].map(([, id]) => id!);

/** Follows the Links from a page. Returns all ids. */
async function walk(
  path: string,
  { client = api, between }: { client?: ApiClient; between?: () => Promise<unknown> } = {},
): Promise<string[]> {
  const ids: string[] = [];
  for (let next: string | undefined = path; next;) {
    const page: ApiResponse = await client.get(next);
    expect(page.status).toBe(200);
    ids.push(...idsOf(page));
    next = nextPage(page);
    if (next) await between?.();
  }
  return ids;
}

/** Returns the ids that the database holds, in order. */
async function storedIds(status?: string): Promise<string[]> {
  const rows = await service.database.query<{ id: string }>(
    `SELECT id::text FROM pets WHERE $1::text IS NULL OR status = $1 ORDER BY pets.id`,
    [status ?? null],
  );
  return rows.map(({ id }) => id);
}

const emptyTheStore = () => service.database.query('TRUNCATE pets RESTART IDENTITY CASCADE');

/** Returns the cursor of the page after the first. */
async function cursorOf(path: string): Promise<string> {
  const next = nextPage(await api.get(path))!;
  return new URL(next, 'http://localhost').searchParams.get('cursor')!;
}

describe('a cursor', () => {
  beforeAll(async () => {
    await emptyTheStore();
    await createPets(service.database, 3);
  });

  it.each(['limit=0', 'limit=101', 'limit=x', 'status=lost', 'limit=1&limit=2'])(
    'does not change the rules of other parameters: %s',
    async (wrong) => {
      const cursor = await cursorOf('/v1/pets?limit=1');
      // Without other parameters, the validation pipe does not check it.
      expect((await api.get(`/v1/pets?cursor=${cursor}`)).status).toBe(200);

      for (const query of [`cursor=${cursor}&${wrong}`, `${wrong}&cursor=${cursor}`]) {
        const { status, json } = await api.get(`/v1/pets?${query}`);
        expect([status, json.code]).toEqual([400, 'invalid_request']);
      }
    },
  );

  it.each(['', 'x', 'MjA6', 'MDU6', 'M'.repeat(400)])(
    'is rejected with invalid_cursor if it is malformed, the first time and later: %j',
    async (cursor) => {
      for (let time = 0; time < 2; time++) {
        const { status, json } = await api.get(`/v1/pets?cursor=${cursor}&status=sold`);
        expect([status, json.code]).toEqual([400, 'invalid_cursor']);
      }
    },
  );
});

describe('GET /v1/pets › walking by Link', () => {
  beforeAll(async () => {
    await emptyTheStore();
    await createPets(service.database, 150, (index) => STATUSES[index % 7 === 0 ? 2 : index % 2]!);
  });

  it.each(
    [1, 7, 20, 100].flatMap((limit) =>
      [undefined, ...STATUSES].map((status) => ({ limit, status })),
    ),
  )(
    'visits each animal once, in order: limit $limit, status $status',
    async ({ limit, status }) => {
      const path = `/v1/pets?limit=${limit}${status ? `&status=${status}` : ''}`;

      const expected = await storedIds(status);
      expect(expected.length).toBeGreaterThan(20);
      expect(await walk(path)).toEqual(expected);
    },
  );

  it('visits each animal once when the limit changes between pages', async () => {
    const ids: string[] = [];
    let cursor = '';
    for (const limit of [1, 100, 3, 100]) {
      const page = await api.get(`/v1/pets?limit=${limit}${cursor && `&cursor=${cursor}`}`);
      ids.push(...idsOf(page));
      cursor = new URLSearchParams(nextPage(page)?.split('?')[1]).get('cursor') ?? '';
    }

    expect(cursor).toBe('');
    expect(ids).toEqual(await storedIds());
  });

  it('continues with the default limit when only a cursor is given', async () => {
    const cursor = await cursorOf('/v1/pets?limit=5');

    const page = await api.get(`/v1/pets?cursor=${cursor}`);
    expect(idsOf(page)).toEqual((await storedIds()).slice(5, 25));
  });

  it("goes on with another owner's key", async () => {
    const other = new ApiClient(service, (await createOwner(service.database)).key);
    const next = nextPage(await api.get('/v1/pets?status=sold&limit=9'))!;

    expect(await walk(next, { client: other })).toEqual((await storedIds('sold')).slice(9));
  });

  it('continues years later, in another process', async () => {
    const next = nextPage(await api.get('/v1/pets?status=pending&limit=9'))!;
    const later = await startService({
      database: service.database,
      nowMs: Date.parse('2040-01-01T00:00:00Z'),
    });

    try {
      const client = new ApiClient(later, key);
      expect(await walk(next, { client })).toEqual((await storedIds('pending')).slice(9));
    } finally {
      await later.close();
    }
  });
});

describe('GET /v1/pets › walking a changing store', () => {
  beforeEach(async () => {
    await emptyTheStore();
    await createPets(service.database, 30, (index) => STATUSES[index % 2]!);
  });

  it.each([
    ['all animals', '/v1/pets?limit=4', undefined],
    ['those of a status', '/v1/pets?limit=4&status=pending', 'pending'],
  ])(
    'visits %s added before once and those added during the walk at most once',
    async (_what, path, status) => {
      const before = await storedIds(status);
      let added = 0;
      const ids = await walk(path, {
        between: async () => {
          if (added++ < 10) await createPets(service.database, 2, (index) => STATUSES[index]!);
        },
      });

      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.slice(0, before.length)).toEqual(before);
      expect(ids).toEqual(await storedIds(status));
    },
  );

  it('continues after a deleted animal', async () => {
    const before = await storedIds();
    const next = nextPage(await api.get('/v1/pets?limit=10'))!;
    await service.database.query('DELETE FROM pets WHERE id = $1', [before[9]]);

    expect(await walk(next)).toEqual(before.slice(10));
  });

  it('ends with an empty page when all further animals are deleted', async () => {
    const next = nextPage(await api.get('/v1/pets?limit=10'))!;
    await service.database.query('DELETE FROM pets');

    const page = await api.get(next);
    expect(page).toMatchObject({ status: 200, text: '[]' });
    expect(page.headers).not.toHaveProperty('link');
  });

  it('visits ids over the whole range of int64, exactly', async () => {
    const great = [
      '9007199254740992',
      '9007199254740993',
      '9223372036854775806',
      '9223372036854775807',
    ];
    await service.database.query(
      `INSERT INTO pets (id, name, category_id, status) OVERRIDING SYSTEM VALUE
       SELECT id, 'Methuselah', 1, 'sold' FROM unnest($1::bigint[]) AS id`,
      [great],
    );

    expect(await walk('/v1/pets?limit=1&status=sold')).toEqual(great);
    expect((await walk('/v1/pets?limit=1')).slice(-4)).toEqual(great);
  });
});

describe('GET /v1/pets › Link', () => {
  beforeAll(async () => {
    await emptyTheStore();
    await createPets(service.database, 40, (index) => (index < 20 ? 'available' : 'pending'));
  });

  it.each([
    ['/v1/pets?limit=41', 40],
    ['/v1/pets?limit=40', 40],
    ['/v1/pets?status=pending', 20],
    ['/v1/pets?status=pending&limit=20', 20],
  ])('is absent on a page that holds all: %s', async (path, count) => {
    const page = await api.get(path);

    expect(page.json).toHaveLength(count);
    expect(page.headers).not.toHaveProperty('link');
  });

  it.each([
    ['/v1/pets', { limit: '20' }],
    ['/v1/pets?limit=39', { limit: '39' }],
    ['/v1/pets?status=available&limit=19', { limit: '19', status: 'available' }],
    ['/v1/pets?limit=7&color=red&status=pending&Limit=3', { limit: '7', status: 'pending' }],
  ])(
    'has the address of the service, the same filters and a cursor: %s',
    async (path, parameters) => {
      const next = nextPage(await api.get(path))!;
      const [route, query] = next.split('?');

      expect(route).toBe(`${service.url}/v1/pets`);
      expect(Object.fromEntries(new URLSearchParams(query))).toEqual({
        ...parameters,
        cursor: expect.stringMatching(/^[\w-]+$/),
      });
    },
  );

  it.each([
    ['Host', { Host: 'evil.example' }, '/v1/pets?limit=2'],
    [
      'headers of proxies',
      {
        'X-Forwarded-Host': 'evil.example',
        'X-Forwarded-Proto': 'https',
        'X-Forwarded-Prefix': '/evil',
        Forwarded: 'host=evil.example;proto=https',
      },
      '/v1/pets?limit=2',
    ],
    ['an absolute request target', {}, 'http://evil.example/v1/pets?limit=2'],
  ])('takes nothing from %s', async (_what, headers, target) => {
    expect((await api.get(target, headers)).headers.link).toBe(
      (await api.get('/v1/pets?limit=2')).headers.link,
    );
  });

  describe.each([
    ['https://api.example.org/', 'https://api.example.org/v1/pets?'],
    ['http://example.org:8080/animal/store', 'http://example.org:8080/animal/store/v1/pets?'],
  ])('with PUBLIC_URL=%s', (publicUrl, expected) => {
    let published: TestService;
    beforeAll(async () => {
      published = await startService({
        database: service.database,
        env: { PUBLIC_URL: publicUrl, TRUST_PROXY: '1' },
      });
    });
    afterAll(() => published.close());

    it(`begins with ${expected}, whatever the Host`, async () => {
      const client = new ApiClient(published, key);
      const page = await client.get('/v1/pets?limit=2', {
        Host: 'evil.example',
        'X-Forwarded-Host': 'evil.example',
      });

      expect(nextPage(page)!.startsWith(`${expected}limit=2&cursor=`)).toBe(true);
    });

    it('leads to the next page', async () => {
      const client = new ApiClient(published, key);
      const next = new URL(nextPage(await client.get('/v1/pets?limit=2'))!);

      const page = await client.get(`/v1/pets${next.search}`);
      expect(idsOf(page)).toEqual((await storedIds()).slice(2, 4));
    });
  });
});

describe('GET /v1/pets › cursor', () => {
  beforeAll(async () => {
    await emptyTheStore();
    await createPets(service.database, 40, (index) => STATUSES[index % 3]!);
  });

  const invalidCursor = {
    code: 'invalid_cursor',
    message: expect.stringContaining('cursor'),
    status: 400,
  };

  const encoded = (text: string): string => Buffer.from(text).toString('base64url');

  it.each([
    ['empty', ''],
    ['a word', 'next'],
    ['a number', '20'],
    ['characters outside its alphabet', '!!!'],
    ['a NUL', '%00'],
    ['not a character', '%FF'],
    ['an encoded word', encoded('next')],
    ['an encoded number', encoded('20')],
    ['an encoded number and nothing', encoded('20:x')],
    ['an encoded decimal fraction', encoded('20.5:')],
    ['an encoded number with a leading zero', encoded('020:')],
    ['an encoded number past int64', encoded('9223372036854775808:')],
    ['an encoded number that is none', encoded('NaN:')],
    ['encoded JSON', encoded('{"id":20}')],
    ['very long', 'A'.repeat(8_000)],
  ])('400 invalid_cursor when it is %s', async (_what, cursor) => {
    const response = await api.get(`/v1/pets?cursor=${cursor}`);

    expect(response.status).toBe(400);
    expect(response.json).toEqual(invalidCursor);
  });

  it.each([
    ['cut short', (cursor: string) => cursor.slice(0, -1)],
    ['lengthened', (cursor: string) => `${cursor}A`],
    ['padded', (cursor: string) => `${cursor}%3D`],
    ['preceded by a space', (cursor: string) => `%20${cursor}`],
    ['given twice', (cursor: string) => `${cursor}&cursor=${cursor}`],
  ])('400 invalid_cursor when a good one is %s', async (_what, change) => {
    const cursor = await cursorOf('/v1/pets?limit=5');
    expect((await api.get(`/v1/pets?cursor=${cursor}`)).status).toBe(200);

    expect((await api.get(`/v1/pets?cursor=${change(cursor)}`)).json).toEqual(invalidCursor);
  });

  it.each([
    ['all animals', '', 'sold', '&status=sold'],
    ['sold', '&status=sold', 'all animals', ''],
    ['sold', '&status=sold', 'pending', '&status=pending'],
    ['available', '&status=available', 'pending', '&status=pending'],
  ])(
    '400 invalid_cursor when it was made for %s%s and is used for %s',
    async (_from, made, _to, used) => {
      const cursor = await cursorOf(`/v1/pets?limit=5${made}`);

      expect((await api.get(`/v1/pets?cursor=${cursor}${made}`)).status).toBe(200);
      expect((await api.get(`/v1/pets?cursor=${cursor}${used}`)).json).toEqual(invalidCursor);
    },
  );

  it.each([
    ['20:', ''],
    ['20:sold', '&status=sold'],
  ])('200 with a cursor of an earlier release: %s', async (text, filter) => {
    const page = await api.get(`/v1/pets?limit=100&cursor=${encoded(text)}${filter}`);

    const ids = await storedIds(filter ? 'sold' : undefined);
    expect(page.status).toBe(200);
    expect(idsOf(page)).toEqual(ids.filter((id) => Number(id) > 20));
  });

  it('400 invalid_request, not invalid_cursor, when the limit is invalid too', async () => {
    expect((await api.get('/v1/pets?cursor=next&limit=0')).json).toMatchObject({
      code: 'invalid_request',
    });
  });
});
