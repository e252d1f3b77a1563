import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { inside } from './service-client.js';

/** Reads that may share a connection: more gain little, and one that is slow keeps those behind it waiting. */
const MAX_TOGETHER = 8;

interface Read {
  sql: string;
  values: unknown[];
  resolve: (rows: never[]) => void;
  reject: (error: unknown) => void;
}

/**
 * Reads of one statement each, on a pool of connections in pipeline mode. Those that are asked for in one turn of the
 * event loop share a connection and go out together, so that a system call here, and a wake-up of the server, serve
 * several: a quarter of what a list costs, here and there. Each fails by itself; only a connection that breaks fails
 * all that are on it. For statements that are fast and take no locks.
 */
export class PipelinedReads {
  private waiting: Read[] = [];

  /** @param pool of clients with `pipeline`; its owner closes it */
  constructor(private readonly pool: Pool) {}

  /** Returns the rows. @throws what the pool or the server says, see `isUnavailable` */
  query<Row extends QueryResultRow>(sql: string, values: unknown[]): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      // Requests are read off one socket after another; then come the immediates.
      if (this.waiting.push({ sql, values, resolve, reject }) === 1)
        setImmediate(() => this.send());
    });
  }

  private send(): void {
    const { waiting } = this;
    this.waiting = [];
    for (let first = 0; first < waiting.length; first += MAX_TOGETHER) {
      this.sendTogether(waiting.slice(first, first + MAX_TOGETHER));
    }
  }

  private sendTogether(reads: readonly Read[]): void {
    this.pool.connect((error, client) => {
      if (client) new Batch(client, reads).send();
      else for (const { reject } of reads) reject(error);
    });
  }
}

/** Reads on their way, and the connection that they share. */
class Batch {
  private unanswered: number;
  private failure: Error | undefined;

  constructor(
    private readonly client: PoolClient,
    private readonly reads: readonly Read[],
  ) {
    this.unanswered = reads.length;
  }

  send(): void {
    // A broken connection fails each read; unheard, it would end the process, too.
    this.client.on('error', ignore);
    const { stream } = inside(this.client).connection;
    stream.cork();
    for (const { sql, values, resolve, reject } of this.reads) {
      this.client.query(sql, values, (error: Error | undefined, result) => {
        this.noteAnswer(error);
        if (error) reject(error);
        else resolve(result.rows as never[]);
      });
    }
    stream.uncork();
  }

  private noteAnswer(error: Error | undefined): void {
    this.failure ??= error;
    this.unanswered--;
    if (this.unanswered > 0) return;
    this.client.removeListener('error', ignore);
    this.client.release(this.failure);
  }
}

function ignore(): void {
  // Each read has been told.
}
