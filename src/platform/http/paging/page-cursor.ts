import { ApiProperty } from '@nestjs/swagger';
import { Allow } from 'class-validator';
import { ServiceError } from '../../errors/service-error.js';
import { Page } from '../response/page.js';
import { propertiesOf } from '../validation/dto-rules.js';
import { parseInt64 } from '../validation/int64.pipe.js';
import { IsIntegerParameter } from '../validation/property-rules.js';

const MAX_PAGE_SIZE = 100;
const DEFAULT_PAGE_SIZE = 20;

const NO_OTHER_PARAMETERS =
  'A parameter that is not listed here does not exist and is ignored, such as `page`, `per_page`, `offset`, `sort`, `id` or `name`.';

/**
 * The query parameters of a list. A subclass adds the filters and the sort order of the list: a
 * cursor is valid only with the same values of them. Add new ones at the end of the class, so that
 * the cursors that clients hold stay valid.
 */
export class PageQuery {
  @ApiProperty({
    default: DEFAULT_PAGE_SIZE,
    required: false,
    description: `Maximum number of items on the page: 1 to ${MAX_PAGE_SIZE}, by default ${DEFAULT_PAGE_SIZE}. ${NO_OTHER_PARAMETERS} A name in another case, such as \`Limit\`, gets 400.`,
  })
  @IsIntegerParameter(1, MAX_PAGE_SIZE)
  limit: number = DEFAULT_PAGE_SIZE;

  /** PageCursor validates it: an invalid cursor has an error code of its own. */
  @ApiProperty({
    type: 'string',
    required: false,
    description: `Position of the page, copied unchanged from the \`Link\` header of the previous page. ${NO_OTHER_PARAMETERS}`,
  })
  @Allow()
  cursor?: unknown;
}

/** How a cursor's text is read, by the type of the sort column. A sort column is never null. */
const PARSERS = { bigint: parseInt64, text: parseText, timestamp: parseTimestamp };

export type SortColumn = keyof typeof PARSERS;

/** The values of sort columns in one row. */
type Position<Columns extends readonly SortColumn[]> = {
  [Index in keyof Columns]: NonNullable<ReturnType<(typeof PARSERS)[Columns[Index]]>>;
};

/**
 * The sort order of a list whose pages begin after a row, not at an offset, so that each page costs
 * the same. The columns identify one row: the last one is usually the id.
 */
export class PageCursor<const Columns extends readonly SortColumn[]> {
  private readonly columns: Columns;

  /** @param columns the types of the sort columns, in order */
  constructor(...columns: Columns) {
    this.columns = columns;
  }

  /**
   * Returns the sort columns of the row before the page, or undefined for the first page.
   * @throws ServiceError invalid_cursor if the cursor is malformed or was made with other filters
   */
  positionOf(query: PageQuery): Position<Columns> | undefined {
    const { cursor } = query;
    if (cursor === undefined) return undefined;
    const [columns = ''] = Buffer.from(typeof cursor === 'string' ? cursor : '', 'base64url')
      .toString()
      .split(':', 1);
    const texts = columns.split(',');
    const values = this.columns.map((column, index) => PARSERS[column](texts[index] ?? ''));
    const position = values as unknown as Position<Columns>;
    // Writing the position again must give the same text. This checks the filters and the notation.
    if (values.includes(undefined) || this.cursorAfter(position, query) !== cursor) {
      throw new ServiceError('invalid_cursor');
    }
    return position;
  }

  /**
   * Returns a page. `rows` are up to `limit + 1` rows after the position of the query. `positionOf`
   * returns the sort columns of a row: for a timestamp, a finite Date of a `timestamptz(3)` column.
   */
  page<Row>(
    rows: readonly Row[],
    query: PageQuery,
    positionOf: (row: Row) => Position<Columns>,
  ): Page<Row> {
    const { limit } = query;
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    if (rows.length <= limit || last === undefined) return new Page(items);
    const filters = filtersOf(query);
    return new Page(items, {
      limit: String(limit),
      ...Object.fromEntries(filters.filter(([, texts]) => texts.length > 0)),
      cursor: this.cursorAfter(positionOf(last), query, filters),
    });
  }

  /** Returns the cursor of the page after a position: `columns:filters` in base64url. */
  cursorAfter(position: Position<Columns>, query: PageQuery, filters = filtersOf(query)): string {
    const columns = position.map((value) => writeText(String(value.valueOf())));
    const values = filters.map(([, texts]) => texts.map(writeText).join(','));
    // A filter that a later release adds does not change the cursors without this filter.
    const text = `${columns.join(',')}:${values.join(':').replace(/:+$/, '')}`;
    return Buffer.from(text).toString('base64url');
  }
}

/** Returns the parameters of a list except its limit and cursor, with their values as text. */
function filtersOf(query: PageQuery): [name: string, texts: string[]][] {
  type Value = string | number | bigint | boolean | Date;
  const values = query as unknown as Readonly<Record<string, Value | Value[] | undefined>>;
  const textOf = (value: Value) => (value instanceof Date ? value.toISOString() : String(value));
  const textsOf = (value: Value | Value[] = []) =>
    Array.isArray(value) ? value.map(textOf) : [textOf(value)];
  return propertiesOf(query.constructor)
    .filter((name) => name !== 'limit' && name !== 'cursor')
    .map((name) => [name, textsOf(values[name])]);
}

/** Returns text without commas and colons. Empty text becomes `%`, which no other text becomes. */
function writeText(text: string): string {
  return text === '' ? '%' : encodeURIComponent(text);
}

function parseText(text: string): string | undefined {
  if (text === '%') return '';
  try {
    const decoded = decodeURIComponent(text);
    // PostgreSQL stores no NUL.
    return decoded.includes('\0') ? undefined : decoded;
  } catch {
    return undefined;
  }
}

/** Reads milliseconds since the epoch. PostgreSQL stores every Date from the year 4713 BC on. */
function parseTimestamp(text: string): Date | undefined {
  const timestamp = new Date(Number(text));
  return timestamp.getUTCFullYear() >= -4712 ? timestamp : undefined;
}
