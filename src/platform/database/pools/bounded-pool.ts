import { promisify } from 'node:util';
import { context } from '@opentelemetry/api';
import pg from 'pg';
import { StartError } from '../../errors/start-error.js';
import { describeCause } from '../../errors/error-details.js';
import { UNTRACED } from '../../tracing/spans.js';

/** Thrown when the maximum number of calls already waits for a connection. */
export class DatabaseQueueFullError extends Error {
  override readonly name = 'DatabaseQueueFullError';

  constructor(maxWaiting: number) {
    super(`${maxWaiting} calls already wait for a database connection`);
  }
}

/** pg's error if the server asks for a password and there is none, or an empty one. */
const NO_PASSWORD = 'client password must be';
const PASSWORD_REQUIRED =
  'The database requires a password. Set it in DATABASE_URL or DATABASE_PASSWORD_FILE.';

/** As PostgreSQL (SQLSTATE 53300), and poolers without an SQLSTATE of their own, report it. */
const TOO_MANY = /^53300:|too many (?:clients|connections)|no more connections|max clients/i;

const TOO_MANY_CONNECTIONS =
  'The database allows no further connection. Lower DATABASE_POOL_SIZE of the replicas, or raise the limit of the server, the role or the pooler';

/** The pool has no connection: none could be opened, for any reason, or became free in time. */
export class ConnectionFailedError extends Error {
  override readonly name = 'ConnectionFailedError';

  constructor(cause: unknown) {
    let failure = `The database cannot be ${cause instanceof StartError ? 'used' : 'reached'}`;
    if (cause instanceof pg.DatabaseError) failure = 'The database rejected the connection';
    const reason = describeCause(cause);
    let message = `${failure}: ${reason}`;
    if (reason.includes(NO_PASSWORD)) message = PASSWORD_REQUIRED;
    if (TOO_MANY.test(reason)) message = `${TOO_MANY_CONNECTIONS} (${reason})`;
    super(message, { cause });
  }
}

/** As pg's configuration, with a bound for the queue. */
export interface BoundedPoolConfig extends Omit<pg.PoolConfig, 'Client'> {
  /** How many calls of `connect` may wait while every connection is busy. */
  maxWaiting: number;
  Client?: new (...config: never[]) => pg.ClientBase;
}

/** SQLSTATE of a write on a read-only server. */
const READ_ONLY = '25006';

/** Other writes than the failed one show that the server can write again if none has failed for this time. */
const FAILURES_END_MS = 60_000;
const INSERT = /^\s*INSERT\b/i;

/** After a failover, the name of the server leads to the primary: a connection to a standby is closed. */
const STANDBY_LIFETIME_MS = 5_000;
/** While the server is read-only, all connections are replaced at most this often. */
const MIN_REPLACEMENT_MS = 1_000;

/** What the pool needs of a PgClient. */
interface Member extends pg.PoolClient {
  readonly isStandby: boolean;
  onWrite?: (text: string, failure?: Error) => void;
}

type ConnectCallback = Parameters<pg.Pool['connect']>[0];

/**
 * pg's connection pool, with a bound for the queue of calls that wait for a connection. It closes connections
 * to a read-only server, because the name may lead to another one by now.
 */
export class BoundedPool extends pg.Pool {
  /** Called when a statement shows that the server is read-only. */
  onReadOnly?: () => void;
  private failedWrite: { text: string; error: Error; atMs: number } | undefined;
  private readonly openedAtMs = new WeakMap<pg.PoolClient, number>();
  private replacedAtMs = -Infinity;

  constructor(private readonly config: BoundedPoolConfig) {
    super(config);
    this.on('connect', (client) => this.observe(client as Member));
  }

  /**
   * Returns why the server cannot write, for example because its disk is full, until the write that has failed
   * succeeds. A standby is no failure: each connection to it says so.
   */
  get writeFailure(): Error | undefined {
    const { error, atMs = 0 } = this.failedWrite ?? {};
    // Without an SQLSTATE, the response was late, which can have any cause.
    const isUnknown = error && !('code' in error);
    return isUnknown && performance.now() - atMs > FAILURES_END_MS ? undefined : error;
  }

  /** Closes the connections that are open now, each one before its next use. */
  replaceConnections(): void {
    const nowMs = performance.now();
    if (nowMs - this.replacedAtMs >= MIN_REPLACEMENT_MS) this.replacedAtMs = nowMs;
  }

  /**
   * Opens all connections, so that a burst of requests opens none. If the server allows fewer, the
   * pool keeps what it got.
   *
   * @returns why connections are missing; undefined if none is
   * @throws ConnectionFailedError if none could be opened
   */
  async open(): Promise<Error | undefined> {
    const opening = Array.from({ length: this.options.max }, () => this.connect());
    const results = await Promise.allSettled(opening);
    const opened = results.filter((result) => result.status === 'fulfilled');
    const [failed] = results.filter((result) => result.status === 'rejected');
    const failure = failed?.reason as Error | undefined;
    if (failure && opened.length === 0) throw failure;
    for (const { value } of opened) value.release();
    this.options.max = opened.length;
    return failure;
  }

  /** Whether the next `connect` fails because the queue is full. */
  get isSaturated(): boolean {
    // pg also queues requests for connections that it assigns or opens in the next event-loop tick.
    const available = this.idleCount + this.options.max - this.totalCount;
    return this.waitingCount >= this.config.maxWaiting + available;
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: ConnectCallback): void;
  /** @throws ConnectionFailedError, or DatabaseQueueFullError at once when the queue is full */
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | void {
    if (!callback) {
      return promisify((done: ConnectCallback) => this.connect(done))() as Promise<pg.PoolClient>;
    }
    if (this.isSaturated) {
      callback(new DatabaseQueueFullError(this.config.maxWaiting), undefined, () => undefined);
      return;
    }
    // A connection, and what a batch sends on it, belongs to no single request.
    const done = context.bind<ConnectCallback>(UNTRACED, (error, client, release) => {
      if (client && this.isStale(client as Member)) {
        release(true);
        super.connect(done);
        return;
      }
      callback(error && new ConnectionFailedError(error), client, release);
    });
    context.with(UNTRACED, () => super.connect(done));
  }

  private observe(client: Member): void {
    this.openedAtMs.set(client, performance.now());
    client.onWrite = (text, error) => {
      const nowMs = performance.now();
      const { text: failedText, atMs = 0 } = this.failedWrite ?? {};
      if (!error) {
        const isOver = INSERT.test(text) && nowMs - atMs > FAILURES_END_MS;
        if (text === failedText || isOver) this.failedWrite = undefined;
        return;
      }
      if (!client.isStandby) this.failedWrite = { text, error, atMs: nowMs };
      if ((error as { code?: string }).code !== READ_ONLY) return;
      this.openedAtMs.delete(client);
      this.replaceConnections();
      this.onReadOnly?.();
    };
  }

  private isStale(client: Member): boolean {
    const openedAtMs = this.openedAtMs.get(client) ?? -Infinity;
    const ageMs = performance.now() - openedAtMs;
    return openedAtMs <= this.replacedAtMs || (client.isStandby && ageMs > STANDBY_LIFETIME_MS);
  }
}
