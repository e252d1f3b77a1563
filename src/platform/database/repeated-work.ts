import type { Logger } from '@nestjs/common';
import { type Clock, MINUTE_MS } from '../config/clock.js';

const MAX_PAUSE_MS = 60 * MINUTE_MS;

/**
 * Runs work that is repeated in the background, and logs its failure.
 *
 * @param what the work, such as `Deleting old usage`
 * @returns what the work returns, undefined if it fails
 */
export async function runRepeated<Result>(
  logger: Logger,
  what: string,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await work();
  } catch (err) {
    logger.warn({ msg: `${what} has failed`, err });
    return undefined;
  }
}

/**
 * Slows down work that finds nothing to do, so that a database that pauses when nobody uses it can pause: the
 * pause between two runs doubles, by default up to an hour.
 */
export class IdlePause {
  private pauseMs: number;
  private endsAtMs = -Infinity;

  /** @param shortestMs the pause after a run that had something to do */
  constructor(
    private readonly clock: Clock,
    private readonly shortestMs: number,
    private readonly longestMs = MAX_PAUSE_MS,
  ) {
    this.pauseMs = shortestMs;
  }

  /** Whether the work is due. */
  get isOver(): boolean {
    return this.clock.monotonicMs() >= this.endsAtMs;
  }

  /** Begins the pause after a run. A failed one had nothing to do. */
  begin(hadNothingToDo: boolean): void {
    this.pauseMs = hadNothingToDo ? Math.min(2 * this.pauseMs, this.longestMs) : this.shortestMs;
    // A timer can fire a little early.
    this.endsAtMs = this.clock.monotonicMs() + this.pauseMs - this.shortestMs / 2;
  }
}
