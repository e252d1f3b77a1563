// Collects the statements that wait for a connection and sends up to eight of them on one.
// It saves system calls, commits, and wake-ups of the server (docs/performance.md).
// It relies on StatementBatch, and on setImmediate running after Node.js has read the requests that
// have arrived. If either breaks, implement `read` and `insert` with one `pool.query` per
// statement.
import { Inject, Injectable } from '@nestjs/common';
import type { Pool, PoolClient } from 'pg';
import { traceStatement } from '../../tracing/spans.js';
import { isUnavailable } from '../database-errors.js';
import { BoundedPool, DatabaseQueueFullError } from '../pools/bounded-pool.js';
import { openTransaction } from '../store-data-source.js';
import type { PgClient } from './pg-client.js';
import type { Parameter } from './statement-batch.js';

/** More statements per batch save nothing, and a slow one delays the others. */
const MAX_BATCH_SIZE = 8;

/**
 * PostgreSQL plans a prepared read once, for all values. Otherwise it would plan a page for each
 * request, because its LIMIT is a parameter. The plan must stay fast however large the table grows:
 * by an index (docs/decisions/0002). The settings end with the transaction of the batch. It returns
 * no row, which would have to be parsed.
 */
export const LASTING_PLANS = `
  SELECT WHERE set_config('plan_cache_mode', 'force_generic_plan', true)
               || set_config('enable_seqscan', 'off', true) IS NULL`;

/** Builds a row from its columns, in the order of the statement. The caller knows their types. */
type RowMapper<Row> = (columns: never) => Row;

interface Statement {
  readonly sql: string;
  readonly values: readonly Parameter[];
  readonly resolve: (rows: unknown[][]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs statements on the connections of a pool.
 *
 * Statements that wait for a connection at the same time share it and one transaction
 * (docs/decisions/0002). If the server rejects one of them, only this one fails, and the others
 * run again. If the server is unavailable or late, all of them fail. In a transaction, a statement is
 * part of it instead.
 */
@Injectable()
export class PipelinedStatements {
  private readonly reads: BatchQueue;
  private readonly inserts: BatchQueue;

  /** @param pool of PgClients; its owner closes it */
  constructor(@Inject(BoundedPool) pool: Pool) {
    this.reads = new BatchQueue(pool, LASTING_PLANS);
    this.inserts = new BatchQueue(pool);
  }

  /**
   * Returns the rows of a statement that uses an index and takes no locks.
   *
   * @param toRow builds a row from its columns, in the order of the statement
   * @throws the error of the pool, the server (see `isUnavailable`) or `toRow`
   */
  read<Row>(sql: string, values: readonly Parameter[], toRow: RowMapper<Row>): Promise<Row[]> {
    return rowsOf(this.reads, sql, values, toRow);
  }

  /**
   * Runs an INSERT and returns its rows after the commit. Inserts share batches only with inserts,
   * so that reads do not wait for the disk. The table must have no foreign key and no unique
   * constraint on the inserted values: with those, transactions of several inserts could deadlock.
   */
  insert<Row>(sql: string, values: readonly Parameter[], toRow: RowMapper<Row>): Promise<Row[]> {
    return rowsOf(this.inserts, sql, values, toRow);
  }
}

async function rowsOf<Row>(
  queue: BatchQueue,
  sql: string,
  values: readonly Parameter[],
  toRow: RowMapper<Row>,
): Promise<Row[]> {
  const rows = await traceStatement(sql, () => run(queue, sql, values));
  return rows.map((columns) => toRow(columns as never));
}

/** Statements that wait for a connection. Each connection that becomes free runs the oldest eight. */
class BatchQueue {
  private readonly waiting: Statement[] = [];
  private isScheduled = false;
  /** Connections that the pool has been asked for and has not returned yet. */
  private requested = 0;

  /** @param settings a statement that changes settings for the transaction of each batch */
  constructor(
    private readonly pool: Pool,
    private readonly settings?: string,
  ) {}

  /** Resolves to the columns of each row. */
  add(sql: string, values: readonly Parameter[]): Promise<unknown[][]> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ sql, values, resolve, reject });
      if (this.isScheduled) return;
      this.isScheduled = true;
      setImmediate(() => this.requestConnections());
    });
  }

  private requestConnections(): void {
    this.isScheduled = false;
    while (this.requested * MAX_BATCH_SIZE < this.waiting.length) {
      this.requested++;
      this.pool.connect((error, client) => {
        this.requested--;
        // If the pool's queue is full, the newest statements fail, not those that wait in it.
        const isQueueFull = error instanceof DatabaseQueueFullError;
        const batch = isQueueFull
          ? this.waiting.splice(this.requested * MAX_BATCH_SIZE)
          : this.waiting.splice(0, MAX_BATCH_SIZE);
        if (client) this.run(client as PoolClient & PgClient, batch);
        else for (const { reject } of batch) reject(error);
      });
    }
  }

  private run(client: PoolClient & PgClient, batch: readonly Statement[]): void {
    const statements = batch.map(({ sql, values }) => client.statement(sql, values));
    // The batch reports a broken connection. Without a listener, the event would end the process.
    client.on('error', ignore);
    const settings = this.settings === undefined ? [] : [client.statement(this.settings, [])];
    client.run([...settings, ...statements], (error, failed) => {
      client.removeListener('error', ignore);
      // The server rejected one statement: the others were rolled back and run again.
      const isOne = statements.some((one) => one === failed) && !isUnavailable(error);
      // Otherwise, a caller whose values the server rejects could force reconnects.
      client.release(isOne ? undefined : (error ?? undefined));
      for (const [index, statement] of batch.entries()) {
        if (isOne && statements[index] !== failed) this.runAlone(statement);
        else if (error) statement.reject(error);
        else statement.resolve(statements[index]?.rows ?? []);
      }
    });
  }

  /** So that a statement that always fails does not fail the same others again. */
  private runAlone(statement: Statement): void {
    this.pool.connect((error, client) => {
      if (client) this.run(client as PoolClient & PgClient, [statement]);
      else statement.reject(error);
    });
  }
}

async function run(queue: BatchQueue, sql: string, values: readonly Parameter[]) {
  const transaction = openTransaction();
  if (!transaction) return queue.add(sql, values);
  const client = (await transaction.connect()) as PgClient;
  const statement = client.statement(sql, values);
  await new Promise<void>((resolve, reject) => {
    client.run([statement], (error) => (error ? reject(error) : resolve()));
  });
  return statement.rows;
}

function ignore(): void {
  // The batch reports the error to each of its statements.
}
