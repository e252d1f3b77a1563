import 'reflect-metadata';
import { join } from 'node:path';
import fc from 'fast-check';
import { IsDate, IsString } from 'class-validator';
import { Keyset } from '../../src/platform/http/paging/keyset.js';
import type { SortColumn } from '../../src/platform/http/paging/sort-columns.js';
import { PageQuery } from '../../src/platform/http/paging/page-query.dto.js';
import { IsOptionalMember, IsText } from '../../src/platform/http/validation/property-rules.js';
import { ValidationPipe } from '../../src/platform/http/validation/validation.pipe.js';
import { createOwner } from '../harness/database/factories.js';
import { holds } from '../harness/fuzz/property.js';
import { ApiClient, type ApiResponse } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { startService, type TestService } from '../harness/service/service.js';

const encoded = (text: string): string => Buffer.from(text).toString('base64url');

class ToyQuery extends PageQuery {
  @IsOptionalMember()
  @IsString()
  colour?: string;

  @IsOptionalMember()
  @IsString({ each: true })
  tags?: string[];

  @IsOptionalMember()
  @IsDate()
  since?: Date;
}

const query = (members: Partial<ToyQuery>): ToyQuery => Object.assign(new ToyQuery(), members);

describe('Keyset', () => {
  const all = new Keyset('bigint', 'integer', 'double', 'text', 'uuid', 'timestamp');

  it('reads every position that it writes, with the same filters', async () => {
    const position = fc.tuple(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
      fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\0', '')),
      fc.uuid(),
      fc.date({
        min: new Date('0001-01-01T00:00:00Z'),
        max: new Date('9999-12-31T00:00:00Z'),
        noInvalidDate: true,
      }),
    );
    const filters = fc.record(
      { colour: fc.string(), tags: fc.array(fc.string()), since: fc.date({ noInvalidDate: true }) },
      { requiredKeys: [] },
    );
    await holds(fc.tuple(position, filters), async ([values, members]) => {
      const cursor = all.cursorAfter(values, query(members));

      expect(cursor).toMatch(/^[\w-]+$/);
      expect(all.positionOf(query({ ...members, cursor }))).toEqual(values);
      return Promise.resolve();
    });
  });

  it('has no position without a cursor', () => {
    expect(all.positionOf(query({}))).toBeUndefined();
  });

  it.each<[string, SortColumn[], string]>([
    ['too few columns', ['bigint', 'bigint'], '1:'],
    ['too many columns', ['bigint'], '1,2:'],
    ['no filters', ['bigint'], '1'],
    ['a bigint out of range', ['bigint'], '9223372036854775808:'],
    ['an integer out of range', ['integer'], '2147483648:'],
    ['an integer with a fraction', ['integer'], '1.5:'],
    ['an integer in another notation', ['integer'], '1e1:'],
    ['an empty integer', ['integer'], ':'],
    ['an infinite double', ['double'], 'Infinity:'],
    ['text with a NUL', ['text'], '%00:'],
    ['text that cannot be decoded', ['text'], '%E0:'],
    ['text in another notation', ['text'], '%61:'],
    ['empty text without its sign', ['text'], ':'],
    ['a uuid that is none', ['uuid'], 'x:'],
    ['a timestamp out of range', ['timestamp'], '8640000000000000:'],
    ['a timestamp that is none', ['timestamp'], 'NaN:'],
  ])('400 invalid_cursor for %s', (_title, columns, text) => {
    expect(() => new Keyset(...columns).positionOf(query({ cursor: encoded(text) }))).toThrow(
      expect.objectContaining({ code: 'invalid_cursor' }) as Error,
    );
  });

  it.each([undefined, null, 7, ['MTo'], {}])('400 invalid_cursor for %j', (cursor) => {
    const read = (): unknown => new Keyset('bigint').positionOf({ limit: 1, cursor });

    if (cursor === undefined) expect(read()).toBeUndefined();
    else expect(read).toThrow(expect.objectContaining({ code: 'invalid_cursor' }) as Error);
  });

  it.each<[Partial<ToyQuery>, Partial<ToyQuery>]>([
    [{}, { colour: 'red' }],
    [{ colour: 'red' }, {}],
    [{ colour: 'red' }, { tags: ['red'] }],
    [{ colour: '' }, {}],
    [{ colour: 'a:b' }, { colour: 'a', tags: ['b'] }],
    [{ tags: ['a,b'] }, { tags: ['a', 'b'] }],
    [{ since: new Date(0) }, { since: new Date(1) }],
  ])('400 invalid_cursor when it was made for %j and is used for %j', (made, used) => {
    const byId = new Keyset('bigint');
    const cursor = byId.cursorAfter([1n], query(made));

    expect(byId.positionOf(query({ ...made, cursor }))).toEqual([1n]);
    expect(() => byId.positionOf(query({ ...used, cursor }))).toThrow(
      expect.objectContaining({ code: 'invalid_cursor' }) as Error,
    );
  });

  it('reads the cursors from before a filter was added', () => {
    class OlderQuery extends PageQuery {
      @IsOptionalMember()
      @IsString()
      colour?: string;
    }
    const byId = new Keyset('bigint');
    const older = Object.assign(new OlderQuery(), { colour: 'red' });

    expect(byId.cursorAfter([20n], older)).toBe(encoded('20:red'));
    const cursor = byId.cursorAfter([20n], older);
    expect(byId.positionOf(query({ colour: 'red', cursor }))).toEqual([20n]);
  });

  it('passes the filters of a list to the next page', () => {
    const { items, next } = new Keyset('bigint').page(
      [1n, 2n, 3n],
      query({ limit: 2, tags: ['a', 'b'], since: new Date(0) }),
      (id) => [id],
    );

    expect(items).toEqual([1n, 2n]);
    expect(next).toEqual({
      limit: '2',
      tags: ['a', 'b'],
      since: ['1970-01-01T00:00:00.000Z'],
      cursor: encoded('2::a,b:1970-01-01T00%3A00%3A00.000Z'),
    });
  });
});

describe('IsText', () => {
  class Note {
    @IsText(2, 4)
    text!: unknown;
  }
  const pipe = new ValidationPipe();
  const accepts = (text: unknown): Promise<boolean> =>
    pipe.transform({ text }, { type: 'body', metatype: Note }).then(
      () => true,
      () => false,
    );

  it.each(['ab', 'abcd', '🐈🐈', '🐈🐈🐈🐈', ' a', 'e\u0301', 'a\n'])(
    'accepts %j',
    async (text) => {
      expect(await accepts(text)).toBe(true);
    },
  );

  it.each([
    ...['a', 'abcde', '🐈', '🐈🐈🐈🐈🐈', '  ', '\u0085\ufeff', 'a\0', 'a\ud800', ''],
    ...[7, null, undefined, ['ab']],
  ])('rejects %j', async (text) => {
    expect(await accepts(text)).toBe(false);
  });
});

describe('GET /v1/pets-by-name, a list in another order', () => {
  let service: TestService;
  let api: ApiClient;

  beforeAll(async () => {
    service = await startService({
      features: join(__dirname, '../harness/features/pets-by-name.mjs'),
    });
    api = new ApiClient(service, (await createOwner(service.database)).key);
    // Many animals with the same name, and names with the separators of a cursor.
    await service.database.query(
      `INSERT INTO pets (name, category_id, status)
       SELECT ($1::text[])[1 + n % cardinality($1)], 1, CASE WHEN n % 2 = 0 THEN 'available' ELSE 'sold' END
         FROM generate_series(1, 60) AS n`,
      [['Zoë', 'Frank', 'a:b,c', '%', 'Frances', '🐈 & co']],
    );
  });
  afterAll(() => service.close());

  const nextOf = ({ headers }: ApiResponse): string | undefined =>
    /^<([^<>]+)>; rel="next"$/.exec(headers.link as string)?.[1];

  it.each([
    ['', `true`],
    ['&status=sold', `status = 'sold'`],
    ['&prefix=Fran&status=available', `name LIKE 'Fran%' AND status = 'available'`],
  ])('200: a walk visits each animal once, in order: %s', async (filters, condition) => {
    const rows = await service.database.query<{ id: string }>(
      `SELECT id::text FROM pets WHERE ${condition} ORDER BY name COLLATE "C", pets.id`,
    );
    const visited: string[] = [];
    let pages = 0;
    for (let next: string | undefined = `/v1/pets-by-name?limit=7${filters}`; next; pages++) {
      const page: ApiResponse = await api.get(next);
      expect(page.status).toBe(200);
      visited.push(...(page.json as { id: number }[]).map(({ id }) => String(id)));
      next = nextOf(page);
    }

    expect(pages).toBeGreaterThan(1);
    expect(visited).toEqual(rows.map(({ id }) => id));
  });

  it('400 invalid_cursor for a cursor with other filters or of another list', async () => {
    const next = nextOf(await api.get('/v1/pets-by-name?limit=7&status=sold')) ?? '';
    const other = nextOf(await api.get('/v1/pets-by-name?limit=7')) ?? '';
    const cursor = new URL(other, service.url).searchParams.get('cursor');

    for (const path of [
      next.replace('status=sold', 'status=available'),
      `${next}&prefix=Fran`,
      `/v1/pets?cursor=${cursor}`,
    ]) {
      expectError(await api.get(path), 400, 'invalid_cursor');
    }
  });

  it('400 invalid_request that names limit and the filters in order', async () => {
    const response = await api.get('/v1/pets-by-name?limit=0&status=lost&prefix=x');

    expect(expectError(response, 400, 'invalid_request')).toMatch(/^limit .*; status .*; prefix /);
  });

  it.each(['x', '05', '9223372036854775808', '%20', '1.0'])(
    'GET /v1/pets-by-name/%s › 404 when the id is not a canonical int64',
    async (id) => {
      expectError(await api.get(`/v1/pets-by-name/${id}`), 404, 'pet_not_found');
    },
  );

  it('GET /v1/pets-by-name/{id} › 200 with the exact id', async () => {
    expect((await api.get('/v1/pets-by-name/-9223372036854775808')).text).toBe(
      '-9223372036854775808',
    );
  });
});
