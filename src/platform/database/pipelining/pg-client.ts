// A pg client that prepares its statements, runs batches of them, and limits the time of each
// response. It saves planning in the server, and one timer per statement (docs/performance.md). It
// relies on undocumented members of pg's Client and Connection (`connection`, `stream`,
// `processID`, `readyForQuery`). If an upgrade of pg changes these, the tests of this folder fail;
// use pg's `query_timeout` and named queries instead.
import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import pg from 'pg';
import { traceStatement } from '../../tracing/spans.js';
import {
  type BatchDone,
  type PreparedStatements,
  type Statement,
  StatementBatch,
  statementName,
} from './statement-batch.js';

/** pg's configuration with options of PgClient. */
export interface PgClientConfig extends pg.ClientConfig {
  /** How long a response may take; by default without a limit. */
  responseTimeoutMs?: number;
}

/** Members of pg's Client that its types omit. */
interface Internals {
  readonly connection: EventEmitter & { stream: Socket };
  readonly processID: number;
  /** Whether no query is in progress. */
  readonly readyForQuery: boolean;
}

/**
 * A connection of the service. It prepares a statement with parameters once. It closes when a
 * response is late, because the next statement would have to wait for the late one.
 */
export class PgClient extends pg.Client {
  /** Whether statements are prepared in the session (see `startSession`). */
  preparesStatements = true;
  private readonly prepared: PreparedStatements = new Map();

  constructor(config: PgClientConfig) {
    super(config);
    const { responseTimeoutMs = 0 } = config;
    // What waits for a response gets the error. Without a listener, the event would end the process.
    this.on('error', () => undefined);
    // The socket has one timer. pg's `query_timeout` would set one per statement.
    this.once('connect', () => {
      const { stream } = this.internals.connection;
      stream.setTimeout(responseTimeoutMs).on('timeout', () => {
        if (!this.internals.readyForQuery) this.abandon();
      });
    });
  }

  // pg declares a dozen overloads of query. This implements all of them.
  override query = ((config: unknown, values?: unknown, callback?: unknown): unknown => {
    const query = super.query.bind(this) as (...args: unknown[]) => Promise<unknown>;
    if (typeof config !== 'string') return query(config, values, callback);
    const isPrepared = this.preparesStatements && Array.isArray(values) && values.length > 0;
    const name = isPrepared ? statementName(config) : undefined;
    const send = () => query({ name, text: config }, values, callback);
    return typeof (callback ?? values) === 'function' ? send() : traceStatement(config, send);
  }) as pg.Client['query'];

  /**
   * Changes PostgreSQL's settings of the session. A connection pooler may run each transaction in
   * another session, where neither settings nor prepared statements of this connection exist. The
   * process number that it reports is its own. Nothing is changed or prepared there.
   */
  async startSession(settings: Readonly<Record<string, string | number>>): Promise<void> {
    const { processID } = this.internals;
    const sql = `SELECT set_config(key, value, false) FROM json_each_text($1) WHERE pg_backend_pid() = $2`;
    this.preparesStatements = false;
    const { rows } = await this.query(sql, [JSON.stringify(settings), processID]);
    this.preparesStatements = rows.length > 0;
  }

  /** Runs statements as one transaction. */
  run(statements: readonly Statement[], done: BatchDone): void {
    const prepared = this.preparesStatements ? this.prepared : undefined;
    super.query(new StatementBatch(statements, prepared, done) as unknown as pg.Submittable);
  }

  /** Closes the connection without waiting for statements. The server rolls them back. */
  abandon(): void {
    this.internals.connection.stream.destroy();
  }

  private get internals(): Internals {
    return this as unknown as Internals;
  }
}
