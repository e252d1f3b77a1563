import type { EntityMetadata } from 'typeorm';

/** Runs statements: TypeORM's EntityManager, DataSource or QueryRunner. */
export interface StatementRunner {
  /** Danger: UPDATE and DELETE return a pair. Use `queryRows` instead. */
  query<Result>(sql: string, values?: unknown[]): Promise<Result>;
}

/** Returns the rows of a statement: of SELECT, or of RETURNING. */
export async function queryRows<Row>(
  runner: StatementRunner,
  sql: string,
  values?: unknown[],
): Promise<Row[]> {
  const result = await runner.query<Row[] | [rows: Row[], count: number]>(sql, values);
  return Array.isArray(result[0]) ? result[0] : (result as Row[]);
}

/** Returns the table of an entity for SQL. */
export function tableOf({ tablePath, dataSource: { driver } }: EntityMetadata): string {
  return tablePath
    .split('.')
    .map((name) => driver.escape(name))
    .join('.');
}
