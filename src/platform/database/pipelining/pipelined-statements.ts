// Collects the statements that wait for a connection and sends up to 32 of them together.
// It saves system calls, commits, and wake-ups of the server (docs/performance.md).
// It relies on StatementBatch, and on setImmediate running after Node.js has read the requests that
// have arrived. If either breaks, implement `read` and `insert` with one `pool.query` per
// statement.
import { Inject, Injectable } from '@nestjs/common';
import { trace } from '@opentelemetry/api';
import { ClsServiceManager } from 'nestjs-cls';
import type { Pool, PoolClient } from 'pg';
import type { QueryRunner } from 'typeorm';
import { traceStatement } from '../../tracing/spans.js';
import { isUnavailable } from '../database-errors.js';
import { BoundedPool, DatabaseQueueFullError } from '../pools/bounded-pool.js';
import type { PgClient } from './pg-client.js';
import { type Parameter, Statement } from './statement-batch.js';

/** Limited, because a slow statement delays the others of its batch. */
const MAX_BATCH_SIZE = 32;

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

/** The key of the open transaction in the AsyncLocalStorage. */
export const OPEN_TRANSACTION = Symbol('open transaction');

/** Returns the connection of the transaction that the calling code runs in, undefined outside of one. */
export function openTransaction(): QueryRunner | undefined {
  const runner = ClsServiceManager.getClsService().get<QueryRunner | undefined>(OPEN_TRANSACTION);
  // Code that the work of a transaction started and did not await runs after it.
  return runner?.isReleased ? undefined : runner;
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
  private readonly alone: BatchQueue;
  private readonly typedStatements: BatchQueue;

  /** @param pool of PgClients; its owner closes it */
  constructor(@Inject(BoundedPool) pool: Pool) {
    this.reads = new BatchQueue(pool, LASTING_PLANS);
    this.inserts = new BatchQueue(pool);
    this.alone = new BatchQueue(pool, undefined, 1);
    this.typedStatements = new BatchQueue(pool, undefined, 1, true);
  }

  /**
   * Returns the rows of a statement that uses an index and takes no locks.
   *
   * @param toRow builds a row from its columns, in the order of the statement
   * @param transaction by default the open one
   * @throws the error of the pool, the server (see `isUnavailable`) or `toRow`
   */
  read<Row>(
    sql: string,
    values: readonly Parameter[],
    toRow: RowMapper<Row>,
    transaction = openTransaction(),
  ): Promise<Row[]> {
    return this.reads.run(sql, values, toRow, transaction);
  }

  /**
   * Runs an INSERT and returns its rows after the commit. Inserts share batches only with inserts,
   * so that reads do not wait for the disk. The table must have no foreign key and no unique
   * constraint on the inserted values: with those, transactions of several inserts could deadlock
   * (see `insertAlone`).
   */
  insert<Row>(
    sql: string,
    values: readonly Parameter[],
    toRow: RowMapper<Row>,
    transaction = openTransaction(),
  ): Promise<Row[]> {
    return this.inserts.run(sql, values, toRow, transaction);
  }

  /** As `insert`, for a table with such constraints: the statement shares no transaction. */
  insertAlone<Row>(
    sql: string,
    values: readonly Parameter[],
    toRow: RowMapper<Row>,
    transaction = openTransaction(),
  ): Promise<Row[]> {
    return this.alone.run(sql, values, toRow, transaction);
  }

  /**
   * Runs a statement that PgClient prepares even in an open transaction, and returns its rows. It must cast
   * each parameter and each result, so that a migration cannot change their types (docs/decisions/0002).
   */
  runTyped<Row>(
    sql: string,
    values: readonly Parameter[],
    toRow: RowMapper<Row>,
    transaction = openTransaction(),
  ): Promise<Row[]> {
    return this.typedStatements.run(sql, values, toRow, transaction);
  }
}

/** Statements that wait for a connection. A connection that becomes free runs up to `maxSize` of the oldest. */
class BatchQueue {
  private readonly waiting: Statement[] = [];
  private isScheduled = false;
  /** Connections that the pool has been asked for and has not returned yet. */
  private requested = 0;

  /**
   * @param settings a statement that changes settings for the transaction of each batch
   * @param isTyped the statements cast each parameter and each result
   */
  constructor(
    private readonly pool: Pool,
    private readonly settings?: string,
    private readonly maxSize = MAX_BATCH_SIZE,
    private readonly isTyped = false,
  ) {}

  async run<Row>(
    sql: string,
    values: readonly Parameter[],
    toRow: RowMapper<Row>,
    transaction?: QueryRunner,
  ): Promise<Row[]> {
    const send = () => this.send(sql, values, transaction);
    // The pool suppresses the spans of instrumentations.
    const isTraced = transaction ?? trace.getActiveSpan();
    const rows = await (isTraced ? traceStatement(sql, send) : send());
    return rows.map((columns) => toRow(columns as never));
  }

  /** Resolves to the columns of each row. */
  private send(
    sql: string,
    values: readonly Parameter[],
    transaction?: QueryRunner,
  ): Promise<unknown[][]> {
    return new Promise((resolve, reject) => {
      const statement = new Statement(sql, values, resolve, reject, this.isTyped);
      if (!transaction) return this.add(statement);
      const run = (client: PgClient) => client.run([statement], (error) => statement.settle(error));
      transaction.connect().then(run, reject);
    });
  }

  private add(statement: Statement): void {
    this.waiting.push(statement);
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(() => this.requestConnections());
  }

  private requestConnections(): void {
    this.isScheduled = false;
    while (this.requested * this.maxSize < this.waiting.length) {
      this.requested++;
      this.pool.connect((error, client) => {
        this.requested--;
        // If the pool's queue is full, the newest statements fail, not those that wait in it.
        const isQueueFull = error instanceof DatabaseQueueFullError;
        const batch = isQueueFull
          ? this.waiting.splice(this.requested * this.maxSize)
          : this.waiting.splice(0, this.maxSize);
        if (client) this.runBatch(client as PoolClient & PgClient, batch);
        else for (const statement of batch) statement.settle(error);
      });
    }
  }

  private runBatch(client: PoolClient & PgClient, batch: readonly Statement[]): void {
    const settings = this.settings === undefined ? [] : [new Statement(this.settings, [])];
    client.run([...settings, ...batch], (error, failed) => {
      // The server rejected one statement: the others were rolled back and run again.
      const isOne = batch.some((one) => one === failed) && !isUnavailable(error);
      // Otherwise, a caller whose values the server rejects could force reconnects.
      client.release(isOne ? undefined : (error ?? undefined));
      for (const statement of batch) {
        if (isOne && statement !== failed) this.runAlone(statement);
        else statement.settle(error);
      }
    });
  }

  /** So that a statement that always fails does not fail the same others again. */
  private runAlone(statement: Statement): void {
    this.pool.connect((error, client) => {
      if (client) this.runBatch(client as PoolClient & PgClient, [statement]);
      else statement.settle(error);
    });
  }
}
