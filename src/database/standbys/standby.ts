import { Logger } from '@nestjs/common';
import { type BoundedPool, DatabaseQueueFullError } from '../pools/bounded-pool.js';
import { isUnavailable } from '../database-errors.js';
import { PipelinedStatements } from '../pipelining/pipelined-statements.js';

/** What was known of a standby's state before a question was sent to it. Times are texts, exact to the microsecond. */
export interface ReplayState {
  /** Whatever was added before this time, by the primary's clock, is there; null: not known. */
  readonly settledBefore: string | null;
  /** When the server that said so was started: an address may lead to another one the next time. */
  readonly serverStartedAt: string;
}

/** A standby as it was when a read began. */
export interface ReadableStandby {
  readonly replay: ReplayState;
  readonly query: PipelinedStatements['read'];
}

const PROBE = `
  SELECT (pg_last_xact_replay_timestamp() - make_interval(secs => $1))::text AS "settledBefore",
         pg_postmaster_start_time()::text AS "serverStartedAt"`;

/** A streaming standby: its connections, and whether it is in service. */
export class Standby {
  private readonly logger = new Logger(Standby.name);
  private readonly statements: PipelinedStatements;
  /** null: left out; undefined: not asked yet. */
  private replay: ReplayState | null | undefined;
  private probing = false;
  /** Whether the log has said what it cannot answer, since it is in service. */
  private complained = false;

  /**
   * @param index by which it is told: its address holds a password
   * @param pool connections to the standby; this class closes it
   * @param horizonMs what was added so long before the last transaction that it has replayed is settled
   */
  constructor(
    private readonly index: number,
    private readonly pool: BoundedPool,
    private readonly horizonMs: number,
  ) {
    this.statements = new PipelinedStatements(this.pool);
    // A connection that nobody used at the moment broke.
    this.pool.on('error', (error) => this.leaveOut(error));
  }

  get inService(): boolean {
    return Boolean(this.replay);
  }

  /**
   * Returns what the work returns, or null when the standby is left out or fails. What says that it
   * cannot be reached, or not in time, leaves it out from now on.
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
      if (isUnavailable(error)) this.leaveOut(error);
      else this.complain(error);
      return null;
    }
  }

  /** Asks whether it answers, and up to when it has followed the primary. Never throws. */
  async probe(): Promise<void> {
    if (this.probing || this.pool.ending) return;
    this.probing = true;
    try {
      const { rows } = await this.pool.query<ReplayState>(PROBE, [this.horizonMs / 1000]);
      for (const replay of rows) this.takeIn(replay);
    } catch (error) {
      this.leaveOut(error);
    } finally {
      this.probing = false;
    }
  }

  async close(): Promise<void> {
    this.replay = null;
    await this.pool.end();
  }

  private takeIn(replay: ReplayState): void {
    if (this.pool.ending) return;
    if (!this.replay) {
      this.complained = false;
      this.logger.log({ msg: 'standby in service', standby: this.index });
    }
    this.replay = replay;
  }

  private leaveOut(error: unknown): void {
    // A full queue says nothing about the standby. The primary serves the request.
    if (this.replay === null || error instanceof DatabaseQueueFullError) return;
    this.replay = null;
    this.logger.warn({ msg: 'standby left out', standby: this.index, err: error });
  }

  private complain(error: unknown): void {
    if (this.complained) return;
    this.complained = true;
    this.logger.warn({ msg: 'standby cannot answer', standby: this.index, err: error });
  }
}
