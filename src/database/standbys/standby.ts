import { Logger } from '@nestjs/common';
import { type BoundedPool, DatabaseQueueFullError } from '../pools/bounded-pool.js';
import { isUnavailable } from '../database-errors.js';
import { PipelinedStatements } from '../pipelining/pipelined-statements.js';

/** The state of a standby before a query. Times are strings, exact to the microsecond. */
export interface ReplayState {
  /**
   * The standby has every row that was added before this time of the primary's clock; null:
   * unknown.
   */
  readonly settledBefore: string | null;
  /** Identifies the server: later, its address may lead to another server. */
  readonly serverStartedAt: string;
}

/** A standby, with its state when the read began. */
export interface ReadableStandby {
  readonly replay: ReplayState;
  readonly query: PipelinedStatements['read'];
}

const PROBE = `
  SELECT (pg_last_xact_replay_timestamp() - make_interval(secs => $1))::text AS "settledBefore",
         pg_postmaster_start_time()::text AS "serverStartedAt"`;

/** A streaming standby: its connections, and whether it is in rotation. */
export class Standby {
  private readonly logger = new Logger(Standby.name);
  private readonly statements: PipelinedStatements;
  /** null: not in rotation; undefined: not probed yet. */
  private replay: ReplayState | null | undefined;
  private probing = false;
  /** Whether a failed query was logged since the standby is in rotation. */
  private hasLoggedFailure = false;

  /**
   * @param index identifies the standby in the log: its URL contains a password
   * @param pool connections to the standby; this class closes it
   * @param horizonMs rows that are this much older than the latest replayed transaction are settled
   */
  constructor(
    private readonly index: number,
    private readonly pool: BoundedPool,
    private readonly horizonMs: number,
  ) {
    this.statements = new PipelinedStatements(pool);
    // An idle connection broke.
    pool.on('error', (error) => this.removeFromRotation(error));
  }

  get isInRotation(): boolean {
    return Boolean(this.replay);
  }

  /**
   * Returns the result of the work, or null if the standby is not in rotation or the work fails.
   * An unavailable or late standby is removed from rotation.
   */
  async read<Result>(
    work: (standby: ReadableStandby) => Promise<Result | null>,
  ): Promise<Result | null> {
    const { replay, statements } = this;
    if (!replay) return null;
    try {
      return await work({
        replay,
        query: (sql, values, toRow) => statements.read(sql, values, toRow),
      });
    } catch (error) {
      if (isUnavailable(error)) this.removeFromRotation(error);
      else this.logFailure(error);
      return null;
    }
  }

  /** Queries the replay state. Adds the standby to rotation or removes it. Never throws. */
  async probe(): Promise<void> {
    if (this.probing || this.pool.ending) return;
    this.probing = true;
    try {
      const { rows } = await this.pool.query<ReplayState>(PROBE, [this.horizonMs / 1000]);
      for (const replay of rows) this.addToRotation(replay);
    } catch (error) {
      this.removeFromRotation(error);
    } finally {
      this.probing = false;
    }
  }

  async close(): Promise<void> {
    this.replay = null;
    await this.pool.end();
  }

  private addToRotation(replay: ReplayState): void {
    if (this.pool.ending) return;
    if (!this.replay) {
      this.hasLoggedFailure = false;
      this.logger.log({ msg: 'standby added to rotation', standby: this.index });
    }
    this.replay = replay;
  }

  private removeFromRotation(error: unknown): void {
    // A full queue does not mean that the standby is unavailable. The primary serves the request.
    if (this.replay === null || error instanceof DatabaseQueueFullError) return;
    this.replay = null;
    this.logger.warn({ msg: 'standby removed from rotation', standby: this.index, err: error });
  }

  private logFailure(error: unknown): void {
    if (this.hasLoggedFailure) return;
    this.hasLoggedFailure = true;
    this.logger.warn({ msg: 'query failed on standby', standby: this.index, err: error });
  }
}
