import { ServiceError } from '../../errors/service-error.js';
import { currentRequest } from '../request/request-context.js';
import { propertiesOf } from '../validation/dto-rules.js';
import type { PageQuery } from './page-query.dto.js';
import { type Position, SORT_COLUMNS, type SortColumn, writeText } from './sort-columns.js';

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
    const position = typeof cursor === 'string' ? this.parse(cursor) : undefined;
    // Writing the position again must give the same text. This checks the filters and the notation.
    if (!position || this.cursorAfter(position, query) !== cursor) {
      throw new ServiceError('invalid_cursor');
    }
    return position;
  }

  /**
   * Returns the rows of a page. If another page follows, the response gets a `Link` header to it. `rows`
   * are up to `limit + 1` rows after the position of the query. `positionOf` returns the sort columns
   * of a row.
   */
  page<Row>(
    rows: readonly Row[],
    query: PageQuery,
    positionOf: (row: Row) => Position<Columns>,
  ): Row[] {
    const { limit } = query;
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    const request = currentRequest();
    if (!request || rows.length <= limit || last === undefined) return items;
    const filters = filtersOf(query).filter(([, texts]) => texts.length > 0);
    request.nextPage = {
      limit: String(limit),
      ...Object.fromEntries(filters),
      cursor: this.cursorAfter(positionOf(last), query),
    };
    return items;
  }

  /** Returns the cursor of the page after a position: `columns:filters` in base64url. */
  cursorAfter(position: Position<Columns>, query: PageQuery): string {
    const columns = this.columns.map((column, index) => {
      const { write } = SORT_COLUMNS[column];
      return (write as (value: unknown) => string)(position[index]);
    });
    const filters = filtersOf(query).map(([, texts]) => texts.map(writeText).join(','));
    // A filter that a later release adds does not change the cursors without this filter.
    const text = `${columns.join(',')}:${filters.join(':').replace(/:+$/, '')}`;
    return Buffer.from(text).toString('base64url');
  }

  private parse(cursor: string): Position<Columns> | undefined {
    const [columns = ''] = Buffer.from(cursor, 'base64url').toString().split(':', 1);
    const texts = columns.split(',');
    if (texts.length !== this.columns.length) return undefined;
    const position = this.columns.map((column, index) =>
      SORT_COLUMNS[column].parse(texts[index] ?? ''),
    );
    return position.includes(undefined) ? undefined : (position as Position<Columns>);
  }
}

/** Returns the parameters of a list except its limit and cursor, with their values as text. */
function filtersOf(query: PageQuery): [name: string, texts: string[]][] {
  const values = query as unknown as Readonly<Record<string, FilterValue>>;
  return propertiesOf(query.constructor)
    .filter((name) => name !== 'limit' && name !== 'cursor')
    .map((name) => [name, textsOf(name, values[name])]);
}

type FilterValue = string | number | bigint | boolean | object | undefined;

function textsOf(name: string, value: FilterValue): string[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((item: FilterValue) => textsOf(name, item));
  if (value instanceof Date) return [value.toISOString()];
  if (typeof value === 'object') throw new TypeError(`An object cannot filter a list: ${name}.`);
  return [value.toString()];
}
