// A pg client that prepares its statements, runs batches of them, and limits the time of each
// response. It saves planning in the server, and one timer per statement (docs/performance.md). It
// relies on undocumented members of pg's Client and Connection (`connection`, `stream`, the event
// `readyForQuery`). If an upgrade of pg changes these, the tests of this folder fail; use pg's
// `query_timeout` and named queries instead.
import { hash } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import { traceStatement } from '../../tracing/spans.js';
import {
  type BatchDone,
  type Parameter,
  type PreparedColumns,
  PreparedStatement,
  type RowMapper,
  StatementBatch,
} from './statement-batch.js';

/** Bounds the server's memory for prepared statements if SQL is generated in many shapes. */
const MAX_NAMED_STATEMENTS = 256;

const statementNames = new Map<string, string>();

const OVERDUE_CHECK_INTERVAL_MS = 50;

/** pg's configuration with options of PgClient. */
export interface PgClientConfig extends pg.ClientConfig {
  /** How long a response may take; by default without a limit. */
  responseTimeoutMs?: number;
}

type Query = (...query: unknown[]) => unknown;

/**
 * A connection of the service. It prepares a statement with parameters once. It closes when a
 * response is late, because the next statement would have to wait for the late one.
 */
export class PgClient extends pg.Client {
  /** Whether statements are prepared in the session (see `startSession`). */
  preparesStatements = true;
  private readonly prepared: PreparedColumns = new Map();
  /** When each statement without a response was sent, by `performance.now()`. */
  private readonly sentAtMs: number[] = [];

  constructor(config: PgClientConfig) {
    super(config);
    const { responseTimeoutMs = Infinity } = config;
    this.once('connect', () => this.closeWhenOverdue(responseTimeoutMs));
  }

  // pg declares a dozen overloads of query. This implements all of them.
  override query = ((config: unknown, values?: unknown, callback?: unknown): unknown => {
    const isAwaited = typeof config === 'string' && typeof (callback ?? values) !== 'function';
    if (!isAwaited) return this.prepareAndSend(config, values, callback);
    return traceStatement(config, () => this.prepareAndSend(config, values) as Promise<unknown>);
  }) as pg.Client['query'];

  /**
   * Changes PostgreSQL's settings of the session. A connection pooler may run each transaction in
   * another session, where neither settings nor prepared statements of this connection exist. The
   * process number that it reports is its own. Nothing is changed or prepared there.
   */
  async startSession(settings: Readonly<Record<string, string | number>>): Promise<void> {
    const { processID } = this as unknown as { processID: number };
    const sql = `SELECT set_config(key, value, false) FROM json_each_text($1) WHERE pg_backend_pid() = $2`;
    const query = this.send(sql, [JSON.stringify(settings), processID]);
    const { rows } = await (query as Promise<pg.QueryResult>);
    this.preparesStatements = rows.length > 0;
  }

  /** Creates a statement for `run`. */
  statement<Row>(
    sql: string,
    values: readonly Parameter[],
    toRow: RowMapper<Row>,
  ): PreparedStatement<Row> {
    const name = this.preparesStatements ? statementName(sql) : undefined;
    return new PreparedStatement(this.prepared, name, sql, values, toRow);
  }

  /** Runs statements as one transaction. */
  run(statements: readonly PreparedStatement<unknown>[], done: BatchDone): void {
    this.send(new StatementBatch(statements, done));
  }

  /** Closes the connection without waiting for statements. The server rolls them back. */
  abandon(): void {
    connectionOf(this).stream.destroy();
  }

  private prepareAndSend(config: unknown, values?: unknown, callback?: unknown): unknown {
    const hasParameters = typeof config === 'string' && Array.isArray(values) && values.length > 0;
    if (!hasParameters || !this.preparesStatements) return this.send(config, values, callback);
    return this.send({ name: statementName(config), text: config, values }, callback);
  }

  private send(...query: unknown[]): unknown {
    this.sentAtMs.push(performance.now());
    return (pg.Client.prototype.query as Query).apply(this, query);
  }

  /** Uses one timer per connection. pg's `query_timeout` would set one per statement. */
  private closeWhenOverdue(limitMs: number): void {
    connectionOf(this).on('readyForQuery', () => this.sentAtMs.shift());
    const timer = setInterval(() => {
      const [oldestMs = Infinity] = this.sentAtMs;
      if (performance.now() - oldestMs > limitMs) this.abandon();
    }, OVERDUE_CHECK_INTERVAL_MS).unref();
    this.once('end', () => clearInterval(timer));
  }
}

/** Returns pg's Connection, which the type of Client omits. */
export function connectionOf(client: pg.ClientBase): EventEmitter & { stream: Duplex } {
  return (client as unknown as { connection: EventEmitter & { stream: Duplex } }).connection;
}

/** Derives the name from the text, so that all processes use the same name. */
function statementName(text: string): string | undefined {
  let name = statementNames.get(text);
  if (name === undefined && statementNames.size < MAX_NAMED_STATEMENTS) {
    name = hash('sha1', text, 'base64url');
    statementNames.set(text, name);
  }
  return name;
}
