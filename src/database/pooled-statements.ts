import type { Pool, PoolClient } from 'pg';
import { isUnavailable } from './database-errors.js';
import type { Parameter, RowMaker } from './prepared-statement.js';
import type { ServiceClient } from './service-client.js';

/** Statements that may share a connection: more gain nothing, and one that is slow keeps the others waiting. */
const MAX_TOGETHER = 8;

interface Statement {
  sql: string;
  values: readonly Parameter[];
  toRow: RowMaker<unknown>;
  resolve: (rows: unknown[]) => void;
  reject: (error: unknown) => void;
}

/**
 * Statements on a pool of connections, each by itself for whoever asks.
 *
 * Those that are asked for in one turn of the event loop share a connection and a transaction: one system call, one
 * wake-up of the server, one answer and one commit serve several (docs/decisions/0010). A statement that the server
 * refuses fails alone; a server that is gone, or late, fails all that share.
 */
export class PooledStatements {
  private readonly reads = new Turn((statements) => this.send(statements));
  private readonly inserts = new Turn((statements) => this.send(statements));

  /** @param pool of ServiceClients; its owner closes it */
  constructor(private readonly pool: Pool) {}

  /**
   * Returns the rows of a statement that is fast and takes no locks.
   *
   * @param toRow makes a row of its columns, in the order of the statement
   * @throws what the pool or the server says, see `isUnavailable`
   */
  read<Row>(sql: string, values: readonly Parameter[], toRow: RowMaker<Row>): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.reads.add({ sql, values, toRow, resolve, reject } as Statement);
    });
  }

  /**
   * As `read`, for an INSERT, which is committed when its rows are returned; beside others, never beside reads, which need
   * not wait for the disk. Not for a table with a unique constraint on what is inserted, or with a foreign key: those lock,
   * and transactions of several such statements can wait for each other.
   */
  insert<Row>(sql: string, values: readonly Parameter[], toRow: RowMaker<Row>): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.inserts.add({ sql, values, toRow, resolve, reject } as Statement);
    });
  }

  private send(asked: readonly Statement[]): void {
    this.pool.connect((error, client) => {
      if (client) this.run(client as PoolClient & ServiceClient, asked);
      else for (const { reject } of asked) reject(error);
    });
  }

  private run(client: PoolClient & ServiceClient, asked: readonly Statement[]): void {
    const statements = asked.map(({ sql, values, toRow }) => client.statement(sql, values, toRow));
    // A connection that breaks is told of by the batch; unheard, it would end the process, too.
    client.on('error', ignore);
    client.run(statements, (error, failed) => {
      client.removeListener('error', ignore);
      client.release(error ?? undefined);
      if (error) return this.fail(asked, error, failed);
      for (const [index, { rows, failure }] of statements.entries()) {
        if (failure) asked[index]?.reject(failure);
        else asked[index]?.resolve(rows);
      }
    });
  }

  /** @param failed the place of the statement that is to blame: the others were taken back, and are sent again */
  private fail(asked: readonly Statement[], error: Error, failed?: number): void {
    const isOwn = failed !== undefined && !isUnavailable(error);
    for (const [index, statement] of asked.entries()) {
      if (isOwn && index !== failed) this.send([statement]);
      else statement.reject(error);
    }
  }
}

/** What is asked for in one turn of the event loop. */
class Turn {
  private waiting: Statement[] = [];

  constructor(private readonly send: (statements: readonly Statement[]) => void) {}

  add(statement: Statement): void {
    // Requests are read off one socket after another; then come the immediates.
    if (this.waiting.push(statement) === 1) setImmediate(() => this.end());
  }

  private end(): void {
    const { waiting } = this;
    this.waiting = [];
    for (let first = 0; first < waiting.length; first += MAX_TOGETHER) {
      this.send(waiting.slice(first, first + MAX_TOGETHER));
    }
  }
}

function ignore(): void {
  // Each statement is told.
}
