import pg from 'pg';

/** Thrown when a request needs a connection and the maximum number of requests already waits. */
export class DatabaseQueueFullError extends Error {
  override readonly name = 'DatabaseQueueFullError';

  constructor(maxWaiting: number) {
    super(`${maxWaiting} requests already wait for a database connection`);
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
  readonly maxWaiting: number;
  /** How often `connect` failed because the queue was full. */
  rejected = 0;
  /** When a connection was last returned without an error, by `performance.now()`. */
  respondedAtMs = -Infinity;

  constructor(config: BoundedPoolConfig) {
    super(config);
    this.maxWaiting = config.maxWaiting;
    // pg passes `undefined` when a connection is returned in order.
    this.on('release', (error: unknown) => {
      if (!error) this.respondedAtMs = performance.now();
    });
  }

  /** Whether the next `connect` fails because the queue is full. */
  get isSaturated(): boolean {
    // pg also queues requests for connections that it assigns or opens in the next event-loop tick.
    const available = this.idleCount + this.options.max - this.totalCount;
    return this.waitingCount >= this.maxWaiting + available;
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: ConnectCallback): void;
  /** @throws DatabaseQueueFullError at once when the queue is full */
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | void {
    if (!this.isSaturated) return callback ? super.connect(callback) : super.connect();
    this.rejected++;
    const error = new DatabaseQueueFullError(this.maxWaiting);
    if (!callback) return Promise.reject(error);
    callback(error, undefined, () => undefined);
  }
}
