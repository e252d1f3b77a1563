import type { Pool, PoolClient } from 'pg';
import type { Parameter, RowMaker } from './prepared-read.js';
import { inside, type ServiceClient } from './service-client.js';

/** Reads that may share a connection: more gain little, and one that is slow keeps those behind it waiting. */
const MAX_TOGETHER = 8;

interface Read {
  sql: string;
  values: readonly Parameter[];
  toRow: RowMaker<unknown>;
  resolve: (rows: unknown[]) => void;
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

  /** @param pool of ServiceClients with `pipeline`; its owner closes it */
  constructor(private readonly pool: Pool) {}

  /**
   * Returns the rows.
   *
   * @param toRow makes a row of its columns, in the order of the statement
   * @throws what the pool or the server says, see `isUnavailable`
   */
  query<Row>(sql: string, values: readonly Parameter[], toRow: RowMaker<Row>): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      const read = { sql, values, toRow, resolve, reject } as Read;
      // Requests are read off one socket after another; then come the immediates.
      if (this.waiting.push(read) === 1) setImmediate(() => this.send());
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
      if (client) new Batch(client as PoolClient & ServiceClient, reads).send();
      else for (const { reject } of reads) reject(error);
    });
  }
}

/** Reads on their way, and the connection that they share. */
class Batch {
  private unanswered: number;
  private failure: Error | null = null;

  constructor(
    private readonly client: PoolClient & ServiceClient,
    private readonly reads: readonly Read[],
  ) {
    this.unanswered = reads.length;
  }

  send(): void {
    // A broken connection fails each read; unheard, it would end the process, too.
    this.client.on('error', ignore);
    const { stream } = inside(this.client).connection;
    stream.cork();
    for (const { sql, values, toRow, resolve, reject } of this.reads) {
      this.client.read(sql, values, toRow, (error, rows) => {
        this.noteAnswer(error);
        if (error) reject(error);
        else resolve(rows);
      });
    }
    stream.uncork();
  }

  private noteAnswer(error: Error | null): void {
    this.failure ??= error;
    this.unanswered--;
    if (this.unanswered > 0) return;
    this.client.removeListener('error', ignore);
    this.client.release(this.failure ?? undefined);
  }
}

function ignore(): void {
  // Each read has been told.
}
