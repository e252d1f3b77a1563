import pg from 'pg';
import type { Connection, DataRow, PreparedStatement, RowDescription } from './prepared-statement.js';

/**
 * Told once: of no error, and all statements are done; or of what the server or the connection says, and none is. Then
 * `failed` is the place of the statement that the server refused, undefined where no single one is to blame.
 */
export type BatchDone = (error: Error | null, failed?: number) => void;

/**
 * Statements that go out in one write and are one transaction: the server answers once, commits once, and when one
 * fails it leaves out those that follow and takes back those before (PostgreSQL's documentation, "Pipelining" of
 * the extended query protocol). pg takes it for one query.
 */
export class StatementBatch {
  private current = 0;

  /** @param callback by this name pg finds it */
  constructor(
    private readonly statements: readonly PreparedStatement<unknown>[],
    readonly callback: BatchDone,
  ) {}

  /** By these pg remembers what a connection has prepared. */
  get name(): string | undefined {
    return this.statements[this.current]?.name;
  }

  get text(): string | undefined {
    return this.statements[this.current]?.text;
  }

  submit(connection: Connection): null {
    const { stream } = connection;
    stream.cork();
    for (const statement of this.statements) statement.send(connection);
    connection.sync();
    stream.uncork();
    return null;
  }

  handleRowDescription(description: RowDescription): void {
    this.statements[this.current]?.describeRows(description);
  }

  handleDataRow(row: DataRow): void {
    this.statements[this.current]?.addRow(row);
  }

  handleCommandComplete(): void {
    this.current++;
  }

  /** Instead of CommandComplete, where there was nothing to do. */
  handleEmptyQuery(): void {
    this.current++;
  }

  /** COPY has no place here: refused, it fails as any other statement. */
  handleCopyInResponse(connection: Connection): void {
    connection.sendCopyFail('no COPY from here');
  }

  handleCopyData(): void {
    // Nobody asked for it.
  }

  /** The transaction has ended: only now is done what was written. */
  handleReadyForQuery(): void {
    this.callback(null);
  }

  handleError(error: Error): void {
    const isServers = error instanceof pg.DatabaseError;
    this.callback(
      error,
      isServers && this.current < this.statements.length ? this.current : undefined,
    );
  }
}
