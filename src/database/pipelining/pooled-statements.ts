import type { Pool, PoolClient } from 'pg';
import { isUnavailable } from '../database-errors.js';
import type { Parameter, RowMaker } from './prepared-statement.js';
import type { ServiceClient } from './service-client.js';

/** Statements that may share a connection: more gain nothing, and a slow one keeps the others waiting. */
const MAX_TOGETHER = 8;

interface Statement {
  sql: string;
  values: readonly Parameter[];
  toRow: RowMaker<unknown>;
  resolve: (rows: unknown[]) => void;
  reject: (error: unknown) => void;
}

/**
 * Statements on a pool of connections, each on its own for its caller.
 *
 * Statements that wait for a connection at the same time share it and one transaction: one system call, one wake-up
 * of the server, one response and one commit serve several (docs/decisions/0010). A statement that the server
 * rejects fails alone; an unavailable or late server fails all that share.
 */
export class PooledStatements {
  private readonly reads: BatchQueue;
  private readonly inserts: BatchQueue;

  /** @param pool of ServiceClients; its owner closes it */
  constructor(pool: Pool) {
    this.reads = new BatchQueue(pool);
    this.inserts = new BatchQueue(pool);
  }

  /**
   * Returns the rows of a statement that is fast and takes no locks.
   *
   * @param toRow makes a row of its columns, in the order of the statement
   * @throws the error of the pool or the server, see `isUnavailable`
   */
  read<Row>(sql: string, values: readonly Parameter[], toRow: RowMaker<Row>): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.reads.add({ sql, values, toRow, resolve, reject } as Statement);
    });
  }

  /**
   * As `read`, for an INSERT, which is committed when its rows are returned. Inserts share with inserts and never
   * with reads, which need not wait for the disk. Not for a table with a unique constraint on the inserted values,
   * or with a foreign key: those lock, and transactions of several such statements can wait for each other.
   */
  insert<Row>(sql: string, values: readonly Parameter[], toRow: RowMaker<Row>): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.inserts.add({ sql, values, toRow, resolve, reject } as Statement);
    });
  }
}

/** Statements that wait for a connection. Each connection takes the oldest ones, so batches grow with the load. */
class BatchQueue {
  private readonly waiting: Statement[] = [];
  private isScheduled = false;
  /** How many connections the pool has been asked for and has not returned yet. */
  private requested = 0;

  constructor(private readonly pool: Pool) {}

  add(statement: Statement): void {
    this.waiting.push(statement);
    if (this.isScheduled) return;
    this.isScheduled = true;
    // Node reads requests off one socket after another; the immediates come after them.
    setImmediate(() => this.requestConnections());
  }

  private requestConnections(): void {
    this.isScheduled = false;
    while (this.requested * MAX_TOGETHER < this.waiting.length) {
      this.requested++;
      this.pool.connect((error, client) => {
        this.requested--;
        const batch = this.waiting.splice(0, MAX_TOGETHER);
        if (client) this.run(client as PoolClient & ServiceClient, batch);
        else for (const { reject } of batch) reject(error);
      });
    }
  }

  private run(client: PoolClient & ServiceClient, batch: readonly Statement[]): void {
    const statements = batch.map(({ sql, values, toRow }) => client.statement(sql, values, toRow));
    // The batch reports a connection that breaks. Without a listener, the event would end the process.
    client.on('error', ignore);
    client.run(statements, (error, failed) => {
      client.removeListener('error', ignore);
      client.release(error ?? undefined);
      if (error) return this.fail(batch, error, failed);
      for (const [index, { rows, failure }] of statements.entries()) {
        if (failure) batch[index]?.reject(failure);
        else batch[index]?.resolve(rows);
      }
    });
  }

  /** @param failed the place of the rejected statement: the others were rolled back, and each is sent again */
  private fail(batch: readonly Statement[], error: Error, failed?: number): void {
    const isOwn = failed !== undefined && !isUnavailable(error);
    for (const [index, statement] of batch.entries()) {
      if (isOwn && index !== failed) this.sendAlone(statement);
      else statement.reject(error);
    }
  }

  /** Keeps statements that always fail from failing the same others again. */
  private sendAlone(statement: Statement): void {
    this.pool.connect((error, client) => {
      if (client) this.run(client as PoolClient & ServiceClient, [statement]);
      else statement.reject(error);
    });
  }
}

function ignore(): void {
  // The batch reports the error to each of its statements.
}
