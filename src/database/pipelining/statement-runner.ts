/** What runs the statements of a repository: TypeORM's EntityManager, or a command's PlainConnection. */
export interface StatementRunner {
  /** Returns the rows; of UPDATE and DELETE a pair, `[rows, count]`. */
  query<ApiResponse>(sql: string, values?: unknown[]): Promise<ApiResponse>;
  /** Does the work in one transaction, on what the work is handed. Not to be called within another. */
  transaction<Result>(work: (runner: StatementRunner) => Promise<Result>): Promise<Result>;
}
