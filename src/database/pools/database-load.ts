import type { BoundedPool } from './bounded-pool.js';

/** How busy the connections are that serve requests. All values are cheap to read. */
export class DatabaseLoad {
  constructor(private readonly pool: BoundedPool) {}

  /**
   * How many calls wait for a connection. Up to eight statements of one event-loop tick share a
   * call.
   */
  get waiting(): number {
    return this.pool.waitingCount;
  }

  /** How many calls may wait (DATABASE_QUEUE_SIZE). */
  get maxWaiting(): number {
    return this.pool.maxWaiting;
  }

  /** Whether the queue is full, so that the next statement fails with 503. */
  get isSaturated(): boolean {
    return this.pool.isSaturated;
  }

  /** How many calls failed because the queue was full. */
  get rejected(): number {
    return this.pool.rejected;
  }
}
