import type { Pool, PoolClient } from 'pg';
import type { Parameter, RowMaker } from './prepared-statement.js';
import type { ServiceClient } from './service-client.js';
import { type Statement, StatementBatch } from './statement-batch.js';

/** Statements that may share a connection: more gain little, and one that is slow keeps those behind it waiting. */
const MAX_TOGETHER = 8;

/**
 * Statements that are no part of a transaction, each by itself, on a pool of connections in pipeline mode.
 *
 * Those that share a connection go out together, so that a system call here, and a wake-up of the server, serve
 * several: a quarter of what a list costs, here and there, and a seventh of an insert. Each fails by itself; only a
 * connection that breaks fails all that are on it.
 */
export class PooledStatements {
  private reads: Statement[] = [];
  /** Each has asked for a connection of its own. */
  private readonly writes = new Set<Statement>();

  /** @param pool of ServiceClients with `pipeline`; its owner closes it */
  constructor(private readonly pool: Pool) {}

  /**
   * Returns the rows of a statement that is fast and takes no locks: it shares a connection with others of its turn of
   * the event loop.
   *
   * @param toRow makes a row of its columns, in the order of the statement
   * @throws what the pool or the server says, see `isUnavailable`
   */
  read<Row>(sql: string, values: readonly Parameter[], toRow: RowMaker<Row>): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      const statement = { sql, values, toRow, resolve, reject } as Statement;
      // Requests are read off one socket after another; then come the immediates.
      if (this.reads.push(statement) === 1) setImmediate(() => this.sendReads());
    });
  }

  /**
   * As `read`, for a statement that may wait for a lock or the disk: it shares a connection, with writes alone, when more
   * of them wait than the pool has connections.
   */
  write<Row>(sql: string, values: readonly Parameter[], toRow: RowMaker<Row>): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.sendWrite({ sql, values, toRow, resolve, reject } as Statement);
    });
  }

  private sendReads(): void {
    const { reads } = this;
    this.reads = [];
    for (let first = 0; first < reads.length; first += MAX_TOGETHER) {
      const batch = reads.slice(first, first + MAX_TOGETHER);
      this.connect(
        (client) => new StatementBatch(client, batch).send(),
        (error) => {
          for (const { reject } of batch) reject(error);
        },
      );
    }
  }

  private sendWrite(write: Statement): void {
    this.writes.add(write);
    this.connect(
      (client) => {
        if (this.writes.has(write)) new StatementBatch(client, this.takePartWith(write)).send();
        // Another's connection has taken it along.
        else client.release();
      },
      (error) => {
        if (this.writes.delete(write)) write.reject(error);
      },
    );
  }

  /** Takes a write that has got a connection, and this connection's part of those that have not. */
  private takePartWith(write: Statement): Statement[] {
    const { writes, pool } = this;
    const count = Math.min(MAX_TOGETHER, Math.ceil(writes.size / pool.options.max));
    const part = [write];
    writes.delete(write);
    for (const other of writes) {
      if (part.length === count) break;
      part.push(other);
      writes.delete(other);
    }
    return part;
  }

  private connect(
    use: (client: PoolClient & ServiceClient) => void,
    fail: (error: unknown) => void,
  ): void {
    this.pool.connect((error, client) => {
      if (client) use(client as PoolClient & ServiceClient);
      else fail(error);
    });
  }
}
