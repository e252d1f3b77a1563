import { hash } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import { ConnectionFailedError } from '../pools/connection-failed-error.js';
import { type Parameter, PreparedStatement, type RowMaker } from './prepared-statement.js';
import { type BatchDone, StatementBatch } from './statement-batch.js';

/** Prepared statements a connection may hold: generated SQL in many shapes must not fill the server's memory. */
const MAX_NAMED_STATEMENTS = 256;

const statementNames = new Map<string, string>();

/** How often a connection is looked at that owes an answer. */
const WATCH_EVERY_MS = 50;

/** As pg's configuration, with a time limit for answers. */
export interface ServiceClientConfig extends pg.ClientConfig {
  /** How long an answer may take; without it, as long as it takes. */
  responseTimeoutMs?: number;
}

type ConnectCallback = (error: Error | null, client: pg.Client) => void;

type Query = (...query: unknown[]) => unknown;

/**
 * A connection as the service uses it: statements with parameters are prepared once per connection
 * (a third less CPU here and in the server), and one that does not answer in time is given up whole:
 * the next question would wait behind this one.
 */
export class ServiceClient extends pg.Client {
  protected readonly preparesStatements: boolean = true;
  /** When the statements were sent that are not answered yet, by `performance.now()`; undefined: nobody asks. */
  private readonly sentAtMs: number[] | undefined;

  constructor(config: ServiceClientConfig) {
    super(config);
    const { responseTimeoutMs } = config;
    if (responseTimeoutMs === undefined) return;
    const sentAtMs: number[] = [];
    // Already now: a pool sends the first statement before pg emits `connect`.
    this.sentAtMs = sentAtMs;
    this.once('connect', () => this.watch(sentAtMs, responseTimeoutMs));
  }

  /** @throws ConnectionFailedError whatever the reason (TLS, authentication, too many connections, a protocol error) */
  override connect = ((callback?: ConnectCallback): Promise<pg.Client> | undefined => {
    if (callback === undefined) {
      return super.connect().catch((error: unknown) => {
        throw new ConnectionFailedError(error);
      });
    }
    super.connect((error: Error | null) => {
      callback(error && new ConnectionFailedError(error), this);
    });
    return undefined;
  }) as pg.Client['connect'];

  // pg declares query with a dozen overloads; all of them pass through here.
  override query = ((config: unknown, values?: unknown, callback?: unknown): unknown => {
    const named =
      this.preparesStatements &&
      typeof config === 'string' &&
      Array.isArray(values) &&
      values.length > 0
        ? { name: statementName(config), text: config, values: values as unknown[] }
        : undefined;
    this.sentAtMs?.push(performance.now());
    return named ? this.send(named, callback) : this.send(config, values, callback);
  }) as pg.Client['query'];

  /** Returns a statement for `run`, prepared where that can be. */
  statement<Row>(
    sql: string,
    values: readonly Parameter[],
    toRow: RowMaker<Row>,
  ): PreparedStatement<Row> {
    const name = this.preparesStatements ? statementName(sql) : undefined;
    return new PreparedStatement(name, sql, values, toRow);
  }

  /** Runs statements as one transaction; whatever becomes of them is told to `done`. */
  run(statements: readonly PreparedStatement<unknown>[], done: BatchDone): void {
    this.sentAtMs?.push(performance.now());
    this.send(new StatementBatch(statements, done));
  }

  private send(...query: unknown[]): unknown {
    return (pg.Client.prototype.query as Query).apply(this, query);
  }

  /** Breaks the connection, whatever it is at: the server rolls back, and the pool makes another one. */
  abandon(): void {
    inside(this).connection.stream.destroy();
  }

  /** Abandons the connection when an answer takes longer. By one timer for all: pg would set one a statement. */
  private watch(sentAtMs: number[], limitMs: number): void {
    inside(this).connection.on('readyForQuery', () => sentAtMs.shift());
    const timer = setInterval(() => {
      const [oldestMs = Infinity] = sentAtMs;
      if (performance.now() - oldestMs > limitMs) this.abandon();
    }, WATCH_EVERY_MS).unref();
    this.once('end', () => clearInterval(timer));
  }
}

/**
 * A connection that may lead through a pooler: the server's end of it changes between statements,
 * and what was prepared on one end is not there, or is another process's, on the next.
 */
export class PooledServiceClient extends ServiceClient {
  protected override readonly preparesStatements = false;
}

/** Returns the part of pg's client that its type leaves out. */
export function inside(client: pg.ClientBase): { connection: EventEmitter & { stream: Duplex } } {
  return client as unknown as { connection: EventEmitter & { stream: Duplex } };
}

/** Made of the text: no process means another statement by the same name. */
function statementName(text: string): string | undefined {
  let name = statementNames.get(text);
  if (name === undefined && statementNames.size < MAX_NAMED_STATEMENTS) {
    name = hash('sha1', text, 'base64url');
    statementNames.set(text, name);
  }
  return name;
}
