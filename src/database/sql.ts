/**
 * Runs the statements of a repository: TypeORM's EntityManager, or the PlainConnection of a
 * command.
 */
export interface StatementRunner {
  /** Returns the rows. UPDATE and DELETE return a pair, `[rows, count]`. */
  query<Result>(sql: string, values?: unknown[]): Promise<Result>;
  /** Does the work in one transaction. Transactions do not nest. */
  transaction<Result>(work: (runner: StatementRunner) => Promise<Result>): Promise<Result>;
}
