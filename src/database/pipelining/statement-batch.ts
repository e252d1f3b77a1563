// Runs several statements as one transaction with one round trip to the server.
// It saves system calls, commits, and wake-ups of the server (docs/performance.md).
// It relies on pg's undocumented protocol for submitted queries (`submit`, `handle…`) and on
// PostgreSQL's pipelining. If an upgrade of pg changes this, the tests of this folder fail; run
// each statement on its own with `pool.query`.
import pg from 'pg';
import type {
  Connection,
  DataRow,
  PreparedStatement,
  RowDescription,
} from './prepared-statement.js';

/**
 * Called once: without an error when all statements have succeeded, otherwise with the error, and
 * then no statement has taken effect.
 *
 * @param failed the index of the statement that the server rejected; undefined if the error
 *   concerns all of them
 */
export type BatchDone = (error: Error | null, failed?: number) => void;

/**
 * Statements that are sent in one write and form one transaction. The server commits once. When a
 * statement fails, the server rolls back the previous ones and skips the next ones (see
 * "Pipelining" in PostgreSQL's documentation of the extended query protocol). pg treats a batch as
 * one query.
 */
export class StatementBatch {
  private current = 0;

  /** @param callback pg looks for this name */
  constructor(
    private readonly statements: readonly PreparedStatement<unknown>[],
    readonly callback: BatchDone,
  ) {}

  /** pg reads `name` and `text` to record which statements a connection has prepared. */
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

  /** The server sends this instead of CommandComplete for an empty statement. */
  handleEmptyQuery(): void {
    this.current++;
  }

  /** A batch sends no data, so COPY fails as any other statement. */
  handleCopyInResponse(connection: Connection): void {
    connection.sendCopyFail('COPY FROM STDIN is not supported');
  }

  handleCopyData(): void {
    // The output of COPY is not used.
  }

  /** The transaction has ended. The statements have no effect before this. */
  handleReadyForQuery(): void {
    this.callback(null);
  }

  handleError(error: Error): void {
    const isOfStatement =
      error instanceof pg.DatabaseError && this.current < this.statements.length;
    this.callback(error, isOfStatement ? this.current : undefined);
  }
}
