import { promisify } from 'node:util';
import { context } from '@opentelemetry/api';
import pg from 'pg';
import { StartError } from '../../errors/start-error.js';
import { describeCause } from '../../logging/error-details.js';
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

/** The pool has no connection: none could be opened, for any reason, or became free in time. */
export class ConnectionFailedError extends Error {
  override readonly name = 'ConnectionFailedError';

  constructor(cause: unknown) {
    let failure = `The database cannot be ${cause instanceof StartError ? 'used' : 'reached'}`;
    if (cause instanceof pg.DatabaseError) failure = 'The database rejected the connection';
    const reason = describeCause(cause);
    const isMissing = reason.includes(NO_PASSWORD);
    super(isMissing ? PASSWORD_REQUIRED : `${failure}: ${reason}`, { cause });
  }
}

/** As pg's configuration, with a bound for the queue. */
export interface BoundedPoolConfig extends Omit<pg.PoolConfig, 'Client'> {
  /** How many calls of `connect` may wait while every connection is busy. */
  maxWaiting: number;
  Client?: new (...config: never[]) => pg.ClientBase;
}

type ConnectCallback = Parameters<pg.Pool['connect']>[0];

/** pg's connection pool, with a bound for the queue of calls that wait for a connection. */
export class BoundedPool extends pg.Pool {
  constructor(private readonly config: BoundedPoolConfig) {
    super(config);
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
      callback(error && new ConnectionFailedError(error), client, release);
    });
    context.with(UNTRACED, () => super.connect(done));
  }
}
