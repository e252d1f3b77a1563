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

/** Rows that the command `db seed` can add. A feature exports one as `SEED` of a file `NAME.seed.ts`. */
export interface Seed {
  /** The option with their number, and their name in messages. */
  readonly rows: string;
  /** The description of the option, in the form of a command. */
  readonly description: string;
  readonly add: (database: StatementRunner, count: number) => Promise<void>;
}
