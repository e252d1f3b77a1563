import { Logger } from '@nestjs/common';
import { type BoundedPool, DatabaseQueueFullError } from '../pools/bounded-pool.js';
import { isUnavailable } from '../database-errors.js';
import { PipelinedStatements } from '../pipelining/pipelined-statements.js';
import type { Parameter, RowMapper } from '../pipelining/statement-batch.js';
import type { PrimaryPosition, ReplayState } from './primary-positions.js';

/** A query that a standby may serve. */
export interface StandbyQuery<Row> {
  /** `SELECT … FROM …` */
  sql: string;
  values: readonly Parameter[];
  toRow: RowMapper<Row>;
  /** Fewer rows are not a complete result, and the primary is queried. */
  minRows: number;
  /** Whether every row with a smaller id than the last one must be committed. */
  settled?: boolean;
}

const PROBE = `
  SELECT (pg_last_wal_replay_lsn() - '0/0')::bigint AS "replayedTo",
         pg_postmaster_start_time()::text AS "serverStartedAt"`;

/** A streaming standby: its connections, and whether it is in rotation. */
export class Standby {
  private readonly logger = new Logger(Standby.name);
  private readonly statements: PipelinedStatements;
  /** The latest state; null: not in rotation; undefined: not probed yet. */
  replay: ReplayState | null | undefined;
  private probing = false;
  /** Whether a failed query was logged since the standby is in rotation. */
  private hasLoggedFailure = false;

  /**
   * @param index identifies the standby in the log: its URL contains a password
   * @param pool connections to the standby; this class closes it
   */
  constructor(
    private readonly index: number,
    private readonly pool: BoundedPool,
  ) {
    this.statements = new PipelinedStatements(pool);
    // An idle connection broke.
    pool.on('error', (error) => this.removeFromRotation(error));
  }

  /**
   * Returns the rows of a query, or null if the primary might return others, or if the query fails.
   * An unavailable or late standby is removed from rotation.
   *
   * @param position of the primary, which this standby has reached
   */
  async read<Row>(
    { sql, values, toRow, minRows, settled = false }: StandbyQuery<Row>,
    position: PrimaryPosition,
  ): Promise<Row[] | null> {
    const parameters = [...values, this.replay?.serverStartedAt ?? null];
    // The address may lead to another server than the one that was probed.
    let check = `pg_postmaster_start_time() = $${parameters.length}::timestamptz`;
    if (settled)
      check += ` AND created_at < $${parameters.push(position.settledBefore)}::timestamptz`;
    try {
      const rows = await this.statements.read(
        sql.replace(' FROM ', `, ${check} AS "isUsable" FROM `),
        parameters,
        (columns: unknown[]) => ({
          row: toRow(columns as never),
          isUsable: columns.at(-1) === true,
        }),
      );
      const isUsable = rows.length >= minRows && rows.at(-1)?.isUsable === true;
      return isUsable ? rows.map(({ row }) => row) : null;
    } catch (error) {
      if (isUnavailable(error)) this.removeFromRotation(error);
      else if (!this.hasLoggedFailure) {
        this.hasLoggedFailure = true;
        this.logger.warn({ msg: 'query failed on standby', standby: this.index, err: error });
      }
      return null;
    }
  }

  /** Queries the replay state. Adds the standby to rotation or removes it. Never throws. */
  async probe(): Promise<void> {
    if (this.probing || this.pool.ending) return;
    this.probing = true;
    try {
      const { rows } = await this.pool.query<ReplayState>(PROBE);
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
}
