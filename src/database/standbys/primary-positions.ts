import { Logger } from '@nestjs/common';
import type { LookupPool } from '../pools/lookup-pool.js';

/** How old the result of a standby may be. */
const MAX_STALENESS_MS = 5_000;

const POSITION = `
  SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint AS wal,
         (now() - make_interval(secs => $1))::text AS "settledBefore",
         pg_postmaster_start_time()::text AS "serverStartedAt"`;

/** A position in the primary's write-ahead log, which contains every change committed before it. */
export interface PrimaryPosition {
  readonly wal: bigint;
  /**
   * Every row with a smaller id than one that was created before this time of the primary's clock
   * is committed before the position, or never will be.
   */
  readonly settledBefore: string;
  /** Identifies the primary's server, exact to the microsecond. */
  readonly serverStartedAt: string;
  /** When it was queried, by `performance.now()`. */
  readonly askedAtMs: number;
}

/** The state of a standby when it was probed. */
export interface ReplayState {
  /** The position in the write-ahead log up to which it has replayed; null: it is no standby. */
  readonly replayedTo: bigint | null;
  /** Identifies the server, exact to the microsecond. Later, the address may lead to another. */
  readonly serverStartedAt: string;
}

/** The latest positions of the primary. They show how current a standby is. */
export class PrimaryPositions {
  private readonly logger = new Logger(PrimaryPositions.name);
  /** Newest first. */
  private positions: PrimaryPosition[] = [];
  private changedAtMs = -Infinity;
  private asking = false;
  private hasLoggedFailure = false;

  /** @param horizonMs rows that are this much older than a position are settled */
  constructor(
    private readonly lookups: LookupPool,
    private readonly horizonMs: number,
  ) {}

  /** Records that this replica has changed or removed rows. A standby must contain this change. */
  rowsChanged(): void {
    this.changedAtMs = performance.now();
  }

  /**
   * Returns the newest position that a standby has reached, or null if its rows may be too old. A
   * balancer may also lead to the primary itself, which has reached all positions.
   */
  reachedBy({ replayedTo, serverStartedAt }: ReplayState): PrimaryPosition | null {
    const position = this.positions.find(
      (each) =>
        each.serverStartedAt === serverStartedAt || (replayedTo !== null && each.wal <= replayedTo),
    );
    const newerThan = Math.max(this.changedAtMs, performance.now() - MAX_STALENESS_MS);
    return position && position.askedAtMs > newerThan ? position : null;
  }

  /** Queries the current position. Never throws. */
  async ask(): Promise<void> {
    if (this.asking) return;
    this.asking = true;
    const askedAtMs = performance.now();
    try {
      const values = [this.horizonMs / 1000];
      const rows = await this.lookups.query<PrimaryPosition>(POSITION, values);
      const oldestMs = askedAtMs - MAX_STALENESS_MS;
      this.positions = [
        ...rows.map((position) => ({ ...position, askedAtMs })),
        ...this.positions.filter((position) => position.askedAtMs > oldestMs),
      ];
      this.hasLoggedFailure = false;
    } catch (error) {
      if (this.lookups.isUnreachable) this.extend(askedAtMs);
      else if (!this.hasLoggedFailure) {
        this.hasLoggedFailure = true;
        this.logger.warn({ msg: 'position of the primary unknown', err: error });
      }
    } finally {
      this.asking = false;
    }
  }

  /** Keeps the newest position valid, unless this replica has changed rows since. */
  private extend(askedAtMs: number): void {
    const [newest] = this.positions;
    if (newest && newest.askedAtMs > this.changedAtMs) this.positions = [{ ...newest, askedAtMs }];
  }
}
