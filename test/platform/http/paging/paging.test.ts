import 'reflect-metadata';
import fc from 'fast-check';
import { IsDate, IsString } from 'class-validator';
import {
  PageCursor,
  PageQuery,
  type SortColumn,
} from '../../../../src/platform/http/paging/page-cursor.js';
import { IsOptionalMember } from '../../../../src/platform/http/validation/property-rules.js';
import { holds } from '../../../harness/fuzz/property.js';

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
const INVALID_CURSOR = expect.objectContaining({ code: 'invalid_cursor' }) as Error;

test('a page is an array of its items, and knows the next page wherever it is made', () => {
  const page = new PageCursor('bigint').page([1n, 2n], query({ limit: 1 }), (id) => [id]);
  expect(page).toEqual([1n]);
  expect(page.next).toEqual({ limit: '1', cursor: expect.any(String) as string });
  expect(page.map(String).filter(Boolean)).toMatchObject({ next: page.next });
  expect(page.slice()).toStrictEqual([1n]);
});

describe('PageCursor', () => {
  it('reads every position that it writes, with the same filters', async () => {
    const all = new PageCursor('bigint', 'text', 'timestamp');
    const position = fc.tuple(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\0', '')),
      fc.date({ min: new Date(-210_863_520_000_000), noInvalidDate: true }),
    );
    const filters = fc.record(
      { colour: fc.string(), tags: fc.array(fc.string()), since: fc.date({ noInvalidDate: true }) },
      { requiredKeys: [] },
    );
    await holds(fc.tuple(position, filters), ([values, members]) => {
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
  ])('400 invalid_cursor for positions that %j does not have: %j', (columns, texts) => {
    for (const text of texts) {
      const cursor = Buffer.from(text).toString('base64url');
      const read = () => new PageCursor(...columns).positionOf(query({ cursor }));
      expect(read).toThrow(INVALID_CURSOR);
    }
  });

  it('400 invalid_cursor when it was made for other filters', () => {
    const byId = new PageCursor('bigint');
    expect(byId.cursorAfter([1n], query({}))).toBe(byId.cursorAfter([1n], new PageQuery()));
    for (const [made, used] of [
      [{}, { colour: 'red' }],
      [{ colour: '' }, {}],
      [{ colour: 'a:b' }, { colour: 'a', tags: ['b'] }],
      [{ tags: ['a,b'] }, { tags: ['a', 'b'] }],
      [{ since: new Date(0) }, { since: new Date(1) }],
    ]) {
      const cursor = byId.cursorAfter([1n], query(made!));
      expect(() => byId.positionOf(query({ ...used, cursor }))).toThrow(INVALID_CURSOR);
    }
  });
});
