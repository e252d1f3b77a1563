import type { PoolClient } from 'pg';
import type { Parameter, RowMaker } from './prepared-statement.js';
import { inside, type ServiceClient } from './service-client.js';

/** A statement that someone waits for. */
export interface Statement {
  sql: string;
  values: readonly Parameter[];
  toRow: RowMaker<unknown>;
  resolve: (rows: unknown[]) => void;
  reject: (error: unknown) => void;
}

/** Statements on their way, and the connection that they share: it is released with the last answer. */
export class StatementBatch {
  private unanswered: number;
  private failure: Error | null = null;

  /**
   * @param client of a pool in pipeline mode
   * @param statements at least one
   */
  constructor(
    private readonly client: PoolClient & ServiceClient,
    private readonly statements: readonly Statement[],
  ) {
    this.unanswered = statements.length;
  }

  /** Sends them in one write, each with a Sync of its own. */
  send(): void {
    // A broken connection fails each statement; unheard, it would end the process, too.
    this.client.on('error', ignore);
    const { stream } = inside(this.client).connection;
    stream.cork();
    for (const { sql, values, toRow, resolve, reject } of this.statements) {
      this.client.run(sql, values, toRow, (error, rows) => {
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
  // Each statement has been told.
}
