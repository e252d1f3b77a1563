// A pg client that prepares its statements, runs batches of them, and limits the time of each
// response. It saves planning in the server, and one timer per statement (docs/performance.md). It
// relies on undocumented members of pg's Client and Connection (Internals). If an upgrade of pg
// changes these, the tests of this folder fail; use pg's `query_timeout` and named queries instead.
import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import pg from 'pg';
import { SECOND_MS } from '../../config/clock.js';
import type { ConnectionSettings } from '../../config/database-settings.js';
import { StartError } from '../../errors/start-error.js';
import { traceStatement } from '../../tracing/spans.js';
import {
  type BatchDone,
  type PreparedStatements,
  type Statement,
  StatementBatch,
  statementName,
} from './statement-batch.js';

/** SQLSTATEs of a statement that no longer fits the schema, that the session lost, or of a deadlock. */
const RUN_AGAIN = /^(?:0A000|22|26000|40P01|42|XX000)/;

/** pg's configuration with options of PgClient. */
export interface PgClientConfig extends ConnectionSettings {
  /** How long a response may take; by default without a limit. */
  responseTimeoutMs?: number;
}

/** The settings that results depend on. In a pooler's sessions, EQUIVALENT values fit too. */
const SESSION: Readonly<Record<string, string>> = {
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  client_encoding: 'UTF8',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  default_transaction_isolation: 'read committed',
  default_transaction_read_only: 'off',
  server_encoding: 'UTF8',
  synchronous_commit: 'on',
};
const EQUIVALENT = /^DateStyle=ISO, |^TimeZone=(?:Etc\/)?(?:GMT|UCT|UTC)$|=remote_apply$/;

/** SQLSTATEs of a write that the server cannot do: read-only, a used up sequence, no disk space, no memory, an I/O error. */
const CANNOT_WRITE = /^(?:25006|2200H|53100|53200|58030)$/;
/** Statements that can fail with these states although writes succeed. */
const READ = /^\s*(?:BEGIN|ROLLBACK|SELECT|SET|SHOW|START)\b/i;

/**
 * The server has not responded in time, neither with a result nor with the error of its own, shorter limit. A
 * commit that waits for a synchronous standby, for example, has no limit.
 */
class LateResponseError extends Error {
  constructor(limitMs: number) {
    super(`Connection terminated: no response from PostgreSQL in ${limitMs / SECOND_MS} s`);
  }
}

/** What the start of a session returns. */
interface SessionState {
  /** Whether no connection pooler is in between. */
  own: boolean;
  isStandby: boolean;
  isReadOnly: boolean;
}

/** Members of pg's Client that its types omit. */
interface Internals {
  readonly connection: Parameters<Statement['send']>[0] & EventEmitter & { stream: Socket };
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
  /** Whether the server was a standby when the session started. */
  isStandby = false;
  /** Called with the text of each write that has ended, and with the error if the server cannot write or did not respond. */
  onWrite?: (text: string, failure?: Error) => void;
  private readonly prepared: PreparedStatements = new Map();

  constructor(private readonly config: PgClientConfig) {
    super({ ...config, ...config.credentials?.() });
    const { responseTimeoutMs = 0 } = config;
    const { connection } = this.internals;
    if (config.requiresChannelBinding) this.requireChannelBinding();
    // Waiting statements get the error. Without a listener, the event would end the process.
    this.on('error', () => undefined);
    // The socket has one timer. pg's `query_timeout` would set one per statement.
    this.once('connect', () => {
      connection.stream.setTimeout(responseTimeoutMs).on('timeout', () => {
        if (!this.internals.readyForQuery) this.abandon(new LateResponseError(responseTimeoutMs));
      });
    });
  }

  // pg declares a dozen overloads of query. This implements all of them.
  override query = ((text: unknown, values?: unknown, done?: (...result: unknown[]) => void) => {
    const query = super.query.bind(this) as (...args: unknown[]) => Promise<unknown>;
    if (typeof text !== 'string' || typeof values === 'function') return query(text, values, done);
    // Without values, it may be several statements.
    const isOne = Array.isArray(values) && values.length > 0;
    const name = isOne && this.mayPrepare() ? statementName(text) : undefined;
    const send = () => query({ name, text }, values);
    const again = (error: Error) => (this.runsAgain(error, name) ? send() : Promise.reject(error));
    const result = traceStatement(text, () => (isOne ? send().catch(again) : send()));
    void result.then(
      () => this.noteWrite(text),
      (error: unknown) => this.noteWrite(text, error as Error),
    );
    return done ? void result.then((rows) => done(null, rows), done) : result;
  }) as pg.Client['query'];

  /**
   * Changes PostgreSQL's settings of the session. A connection pooler may run each transaction in
   * another session, where neither settings nor prepared statements of this connection exist. The
   * process number that it reports is its own. Nothing is changed or prepared there.
   *
   * @throws StartError if a setting of that session, the encoding of the database, or the server does not fit
   */
  async startSession(limits: Readonly<Record<string, string | number>>): Promise<void> {
    const settings = JSON.stringify({ ...limits, ...SESSION });
    // The new settings do not change this transaction: it is read-only if those of the server are.
    const sql = `
      SELECT key, own, pg_is_in_recovery() AS "isStandby",
             current_setting('transaction_read_only')::boolean AS "isReadOnly",
             CASE WHEN own AND key <> 'server_encoding' THEN set_config(key, value, false)
                  ELSE current_setting(key) END AS value
        FROM json_each_text($1), (SELECT pg_backend_pid() = $2 AS own) AS session`;
    this.preparesStatements = false;
    const { rows } = await this.query(sql, [settings, this.internals.processID]);
    for (const { key, value } of rows as { key: string; value: string }[]) {
      if (value === (SESSION[key] ?? value) || EQUIVALENT.test(`${key}=${value}`)) continue;
      throw new StartError(`${key} must be ${SESSION[key]}, but is ${value}`);
    }
    const { own, isStandby, isReadOnly } = rows[0] as SessionState;
    const target = this.config.targetSession;
    if (target === 'primary' ? isStandby : target && isReadOnly) {
      const state = isStandby ? 'a standby' : 'read-only';
      throw new StartError(`target_session_attrs is ${target}, but the server is ${state}`);
    }
    this.isStandby = isStandby;
    this.preparesStatements = own;
  }

  /** Runs statements as one transaction. */
  run(statements: readonly Statement[], done: BatchDone, again: readonly Statement[] = []): void {
    const isTyped = statements.every((statement) => statement.isTyped);
    const prepared = this.mayPrepare(isTyped) ? this.prepared : undefined;
    const batch = new StatementBatch(statements, prepared, (error, failed) => {
      if (failed && !again.includes(failed) && this.runsAgain(error as Error, failed.name))
        this.run(statements, done, [...again, failed]);
      else {
        // If the server rejects the commit, no statement has failed.
        if (error) this.noteWrite((failed ?? statements.at(-1))?.text ?? '', error);
        else for (const { text } of statements) this.noteWrite(text);
        done(error, failed);
      }
    });
    super.query(batch as unknown as pg.Submittable);
  }

  /**
   * Closes the connection without waiting for statements. The server rolls them back.
   *
   * @param reason the error of the statements; by default, that the connection was terminated
   */
  abandon(reason?: Error): void {
    this.internals.connection.stream.destroy(reason);
  }

  /** Returns whether to prepare a statement: in a transaction, only if it is typed (docs/decisions/0002). */
  private mayPrepare(isTyped = false): boolean {
    return this.preparesStatements && (isTyped || this.getTransactionStatus() !== 'T');
  }

  /** Lets a statement be prepared again. Returns whether it can run again: it has had no effect. */
  private runsAgain({ code = '' }: Error & { code?: string }, name = ''): boolean {
    if (!RUN_AGAIN.test(code)) return false;
    this.internals.connection.close({ type: 'S', name });
    Reflect.deleteProperty(this.internals.connection.parsedStatements, name);
    this.prepared.delete(name);
    return this.getTransactionStatus() === 'I';
  }

  private noteWrite(text: string, error?: Error & { code?: string }): void {
    if (READ.test(text)) return;
    if (!error) this.onWrite?.(text);
    else if (CANNOT_WRITE.test(error.code ?? '') || error instanceof LateResponseError)
      this.onWrite?.(text, error);
  }

  /** Closes the connection before the password is sent, unless channel binding protects it. */
  private requireChannelBinding(): void {
    const { connection } = this.internals;
    let isBound = false;
    const close = (): void => this.abandon(new Error('the server offers no channel binding'));
    connection.prependListener('authenticationSASL', (message: { mechanisms: string[] }) => {
      isBound = message.mechanisms.includes('SCRAM-SHA-256-PLUS');
      if (!isBound) close();
    });
    for (const event of ['CleartextPassword', 'MD5Password'])
      connection.prependListener(`authentication${event}`, close);
    connection.prependListener('authenticationOk', () => isBound || close());
  }

  private get internals(): Internals {
    return this as unknown as Internals;
  }
}
