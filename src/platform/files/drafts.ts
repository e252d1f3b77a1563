import type { EntityManager, EntityMetadata } from 'typeorm';
import { queryRows } from '../database/sql.js';
import { jsonText } from '../http/response/json-text.js';

/** How many rows were added, and the range of their ids. */
export type AddedRows = Record<'added' | 'firstId' | 'lastId', bigint | null>;

/**
 * The rows of a file in a temporary table, which only the open transaction sees, until all are known to
 * be valid. In the table of the entity, lists would have to skip the uncommitted rows.
 */
export class Drafts {
  private count = 0;
  private readonly columns: EntityMetadata['columns'];

  /**
   * @param manager of the open transaction, which drops the table
   * @param properties those of the rows that are stored
   */
  constructor(
    private readonly manager: EntityManager,
    private readonly metadata: EntityMetadata,
    properties: readonly string[],
  ) {
    this.columns = metadata.columns.filter(({ propertyName }) => properties.includes(propertyName));
  }

  async create(): Promise<void> {
    await queryRows(
      this.manager,
      `CREATE TEMP TABLE drafts ON COMMIT DROP AS
       SELECT 0::bigint AS "#", ${this.names()} FROM ${this.table()} WITH NO DATA`,
    );
  }

  async add(rows: readonly object[]): Promise<void> {
    const drafts = rows.map((row) => {
      const values = row as Record<string, unknown>;
      const draft: Record<string, unknown> = { '#': ++this.count };
      for (const column of this.columns) draft[column.databaseName] = values[column.propertyName];
      return draft;
    });
    const sql = 'INSERT INTO drafts SELECT * FROM json_populate_recordset(NULL::drafts, $1)';
    await queryRows(this.manager, sql, [jsonText(drafts)]);
  }

  /** Adds the drafts to the table of the entity, in their order. A missing value gets its default. */
  async insert(): Promise<AddedRows> {
    const { driver } = this.metadata.dataSource;
    const values = this.columns.map((column) => {
      const name = driver.escape(column.databaseName);
      const value = driver.normalizeDefault(column);
      return value === undefined ? name : `coalesce(${name}, ${value})`;
    });
    const id = driver.escape(this.metadata.primaryColumns[0]?.databaseName ?? '');
    const [added] = await queryRows<AddedRows>(
      this.manager,
      `WITH added AS (
         INSERT INTO ${this.table()} (${this.names()})
         SELECT ${values.join(', ')} FROM drafts ORDER BY "#" RETURNING ${id} AS id)
       SELECT count(*) AS added, min(id) AS "firstId", max(id) AS "lastId" FROM added`,
    );
    return added as AddedRows;
  }

  private names(): string {
    const { driver } = this.metadata.dataSource;
    return this.columns.map(({ databaseName }) => driver.escape(databaseName)).join(', ');
  }

  private table(): string {
    return tableOf(this.metadata);
  }
}

/** Returns the table of an entity for SQL. */
export function tableOf({ tablePath, dataSource: { driver } }: EntityMetadata): string {
  return tablePath
    .split('.')
    .map((name) => driver.escape(name))
    .join('.');
}
