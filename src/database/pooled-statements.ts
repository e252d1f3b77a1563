import type { Pool, PoolClient } from 'pg';
import type { Parameter, RowMaker } from './prepared-statement.js';
import { inside, type ServiceClient } from './service-client.js';

/** Reads that may share a connection: more gain little, and one that is slow keeps those behind it waiting. */
const MAX_TOGETHER = 8;

interface Statement {
  sql: string;
  values: readonly Parameter[];
  toRow: RowMaker<unknown>;
  resolve: (rows: unknown[]) => void;
  reject: (error: unknown) => void;
}

/**
 * Statements that are no part of a transaction, each by itself, on a pool of connections in pipeline mode.
 *
 * Reads that are asked for in one turn of the event loop share a connection and go out together, so that a system
 * call here, and a wake-up of the server, serve several: a quarter of what a list costs, here and there. Each fails by
 * itself; only a connection that breaks fails all that are on it.
 */
export class PooledStatements {
  private waiting: Statement[] = [];

  /** @param pool of ServiceClients with `pipeline`; its owner closes it */
  constructor(private readonly pool: Pool) {}

  /**
   * Returns the rows of a statement that is fast and takes no locks.
   *
   * @param toRow makes a row of its columns, in the order of the statement
   * @throws what the pool or the server says, see `isUnavailable`
   */
  read<Row>(sql: string, values: readonly Parameter[], toRow: RowMaker<Row>): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      const statement = { sql, values, toRow, resolve, reject } as Statement;
      // Requests are read off one socket after another; then come the immediates.
      if (this.waiting.push(statement) === 1) setImmediate(() => this.sendWaiting());
    });
  }

  /** As `read`, for a statement that may wait for a lock or the disk: on a connection of its own. */
  write<Row>(sql: string, values: readonly Parameter[], toRow: RowMaker<Row>): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.send([{ sql, values, toRow, resolve, reject } as Statement]);
    });
  }

  private sendWaiting(): void {
    const { waiting } = this;
    this.waiting = [];
    for (let first = 0; first < waiting.length; first += MAX_TOGETHER) {
      this.send(waiting.slice(first, first + MAX_TOGETHER));
    }
  }

  private send(statements: readonly Statement[]): void {
    this.pool.connect((error, client) => {
      if (client) new Batch(client as PoolClient & ServiceClient, statements).send();
      else for (const { reject } of statements) reject(error);
    });
  }
}

/** Statements on their way, and the connection that they share. */
class Batch {
  private unanswered: number;
  private failure: Error | null = null;

  constructor(
    private readonly client: PoolClient & ServiceClient,
    private readonly statements: readonly Statement[],
  ) {
    this.unanswered = statements.length;
  }

  send(): void {
    // A broken connection fails each statement; unheard, it would end the process, too.
    this.client.on('error', ignore);
    const { stream } = inside(this.client).connection;
    stream.cork();
    for (const { sql, values, toRow, resolve, reject } of this.statements) {
      this.client.run(sql, values, toRow, (error, rows) => {
        this.noteAnswer(error);
        if (error) reject(error);
        else resolve(rows);
      });
    }
    stream.uncork();
  }

  private noteAnswer(error: Error | null): void {
    this.failure ??= error;
    this.unanswered--;
    if (this.unanswered > 0) return;
    this.client.removeListener('error', ignore);
    this.client.release(this.failure ?? undefined);
  }
}

function ignore(): void {
  // Each statement has been told.
}
