import 'reflect-metadata';
import fc from 'fast-check';
import { IsDate, IsString } from 'class-validator';
import { PageCursor } from '../../src/platform/http/paging/page-cursor.js';
import type { SortColumn } from '../../src/platform/http/paging/sort-columns.js';
import { PageQuery } from '../../src/platform/http/paging/page-query.dto.js';
import { IsOptionalMember } from '../../src/platform/http/validation/property-rules.js';
import { holds } from '../harness/fuzz/property.js';
import type { ApiResponse } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { useStore } from '../harness/http/store.js';

const encoded = (text: string): string => Buffer.from(text).toString('base64url');
const INVALID_CURSOR = expect.objectContaining({ code: 'invalid_cursor' }) as Error;

class OlderQuery extends PageQuery {
  @IsOptionalMember()
  @IsString()
  colour?: string;
}

class ToyQuery extends OlderQuery {
  @IsOptionalMember()
  @IsString({ each: true })
  tags?: string[];

  @IsOptionalMember()
  @IsDate()
  since?: Date;
}

const query = (members: Partial<ToyQuery>): ToyQuery => Object.assign(new ToyQuery(), members);

describe('PageCursor', () => {
  const byId = new PageCursor('bigint');

  it('reads every position that it writes, with the same filters', async () => {
    const all = new PageCursor('bigint', 'text', 'uuid', 'timestamp');
    const bound = (date: string) => new Date(`${date}Z`);
    const position = fc.tuple(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\0', '')),
      fc.uuid(),
      fc.date({
        min: bound('0001-01-01T00:00:00.000'),
        max: bound('9999-12-31T23:59:59.999'),
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

  it.each<[columns: SortColumn[], texts: string[]]>([
    [
      ['bigint', 'bigint'],
      ['1:', '1,2,3:'],
    ],
    [['bigint'], ['1', '1,2:', '9223372036854775808:', '-9223372036854775809:']],
    [['text'], ['%00:', '%E0:', '%61:', ':']],
    [['uuid'], ['x:', '0b7c2f6e5a0e4f0e9a556c1d3c1a7f42:']],
    [['timestamp'], ['253402300800000:', '-62135596800001:', 'NaN:']],
  ])('400 invalid_cursor for positions that %j does not have: %j', (columns, texts) => {
    for (const text of texts) {
      const read = () => new PageCursor(...columns).positionOf(query({ cursor: encoded(text) }));
      expect(read).toThrow(INVALID_CURSOR);
    }
  });

  it('reads timestamps at their limits', () => {
    const limits = new PageCursor('timestamp', 'timestamp');
    const text = '253402300799999,-62135596800000:';
    expect(limits.positionOf(query({ cursor: encoded(text) }))).toHaveLength(2);
  });

  it('has no position without a cursor, and 400 invalid_cursor for one that is not text', () => {
    expect(byId.positionOf(query({}))).toBeUndefined();
    for (const cursor of [null, 7, ['MTo'], {}]) {
      expect(() => byId.positionOf({ limit: 1, cursor })).toThrow(INVALID_CURSOR);
    }
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
    const cursor = byId.cursorAfter([1n], query(made));

    expect(byId.positionOf(query({ ...made, cursor }))).toEqual([1n]);
    expect(() => byId.positionOf(query({ ...used, cursor }))).toThrow(INVALID_CURSOR);
  });

  it('reads the cursors from before a filter was added', () => {
    const cursor = byId.cursorAfter([20n], Object.assign(new OlderQuery(), { colour: 'red' }));

    expect(cursor).toBe(encoded('20:red'));
    expect(byId.positionOf(query({ colour: 'red', cursor }))).toEqual([20n]);
  });

  it('contains the filters of the list, and `page` returns up to `limit` rows', () => {
    const filtered = query({ limit: 2, tags: ['a', 'b'], since: new Date(0) });
    expect(byId.page([1n, 2n, 3n], filtered, (id) => [id])).toEqual([1n, 2n]);
    expect(byId.cursorAfter([2n], filtered)).toBe(encoded('2::a,b:1970-01-01T00%3A00%3A00.000Z'));
  });
});

describe('GET /v1/pets-by-name, a list in another order', () => {
  const store = useStore({ features: 'pets-by-name' });

  beforeAll(async () => {
    // Many animals with the same name, and names with the separators of a cursor.
    await store.query(
      `INSERT INTO pets (name, category_id, status)
       SELECT ($1::text[])[1 + n % cardinality($1)], 1, CASE WHEN n % 2 = 0 THEN 'available' ELSE 'sold' END
         FROM generate_series(1, 60) AS n`,
      [['Zoë', 'Frank', 'a:b,c', '%', 'Frances', '🐈 & co']],
    );
  });

  const nextOf = ({ headers }: ApiResponse): string | undefined =>
    /^<([^<>]+)>; rel="next"$/.exec(headers.link as string)?.[1];

  it.each([
    ['', `true`],
    ['&status=sold', `status = 'sold'`],
    ['&prefix=Fran&status=available', `name LIKE 'Fran%' AND status = 'available'`],
  ])('200: a walk visits each animal once, in order: %s', async (filters, condition) => {
    const rows = await store.query<{ id: string }>(
      `SELECT id::text FROM pets WHERE ${condition} ORDER BY name COLLATE "C", pets.id`,
    );
    const visited: string[] = [];
    for (let next: string | undefined = `/v1/pets-by-name?limit=7${filters}`; next;) {
      const page: ApiResponse = await store.api.get(next);
      visited.push(...(page.json as { id: number }[]).map(({ id }) => String(id)));
      next = nextOf(page);
    }

    expect(visited.length).toBeGreaterThan(7);
    expect(visited).toEqual(rows.map(({ id }) => id));
  });

  it('400 invalid_cursor for a cursor with other filters or of another list', async () => {
    const next = nextOf(await store.api.get('/v1/pets-by-name?limit=7&status=sold')) ?? '';
    const other = nextOf(await store.api.get('/v1/pets-by-name?limit=7')) ?? '';
    const cursor = new URL(other, store.service.url).searchParams.get('cursor');

    for (const path of [
      next.replace('status=sold', 'status=available'),
      `${next}&prefix=Fran`,
      `/v1/pets?cursor=${cursor}`,
    ]) {
      expectError(await store.api.get(path), 400, 'invalid_cursor');
    }
  });

  it('400 invalid_request that names limit and the filters in order', async () => {
    const response = await store.api.get('/v1/pets-by-name?limit=0&status=lost&prefix=x');

    expect(expectError(response, 400, 'invalid_request')).toMatch(/^limit .*; status .*; prefix /);
  });

  it.each([
    [200, 'xy 🐈🐈 🐈🐈🐈🐈🐈 vwxyz %20a e%CC%81'],
    [400, 'x 🐈 uvwxyz 🐈🐈🐈🐈🐈🐈 %20%20 %C2%85%EF%BB%BF a%00'],
  ])('%i for text of 2 to 5 code points that is one of %s', async (status, texts) => {
    for (const text of texts.split(' ')) {
      const prefix = text.startsWith('%') ? text : encodeURI(text).replaceAll('%25', '%');
      const response = await store.api.get(`/v1/pets-by-name?prefix=${prefix}`);
      expect([text, response.status]).toEqual([text, status]);
    }
  });

  it('GET /v1/pets-by-name/{id} › 200 with the exact id, 404 when it is not canonical', async () => {
    const { text } = await store.api.get('/v1/pets-by-name/-9223372036854775808');
    expect(text).toBe('-9223372036854775808');
    for (const id of ['x', '05', '9223372036854775808', '%20', '1.0']) {
      expectError(await store.api.get(`/v1/pets-by-name/${id}`), 404, 'pet_not_found');
    }
  });
});
