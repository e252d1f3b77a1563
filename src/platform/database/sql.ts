/** Runs statements: TypeORM's EntityManager, DataSource or QueryRunner. */
export interface StatementRunner {
  /** Danger: UPDATE and DELETE return a pair. Use `queryRows` instead. */
  query<Result>(sql: string, values?: unknown[]): Promise<Result>;
}

/** The rows of a statement and, for UPDATE and DELETE, their count. */
type QueryResult<Row> = Row[] | [rows: Row[], count: number];

/** Returns the rows of a statement: of SELECT, or of RETURNING. */
export async function queryRows<Row>(
  runner: StatementRunner,
  sql: string,
  values?: unknown[],
): Promise<Row[]> {
  const result = await runner.query<QueryResult<Row>>(sql, values);
  return isCounted(result) ? result[0] : result;
}

function isCounted<Row>(result: QueryResult<Row>): result is [Row[], number] {
  return Array.isArray(result[0]);
}
