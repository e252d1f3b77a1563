import type { Logger } from '@nestjs/common';
import { type Clock, MINUTE_MS } from '../config/clock.js';

const MAX_PAUSE_MS = 60 * MINUTE_MS;

/**
 * Logs the failures of work that is repeated in the background: the first one, then at most one per
 * minute, and the success after a logged one. Otherwise an outage of the database fills the log.
 */
export class RepeatedWork {
  /** Since the last success. */
  private failures = 0;
  private loggedAtMs = -Infinity;
  /** Whether the log has one of these failures. */
  private isReported = false;

  /** @param what the work, such as `Deleting old usage` */
  constructor(
    private readonly logger: Logger,
    private readonly clock: Clock,
    private readonly what: string,
  ) {}

  /** Returns what the work returns, or undefined if it fails. */
  async run<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      const result = await work();
      this.succeeded();
      return result;
    } catch (error) {
      this.failed(error);
      return undefined;
    }
  }

  private failed(error: unknown): void {
    this.failures++;
    const nowMs = this.clock.monotonicMs();
    if (nowMs - this.loggedAtMs < MINUTE_MS) return;
    this.loggedAtMs = nowMs;
    this.isReported = true;
    const count = this.failures > 1 ? ` ${this.failures} times` : '';
    this.logger.warn({ msg: `${this.what} has failed${count}`, err: error });
  }

  private succeeded(): void {
    if (this.isReported) {
      const times = this.failures === 1 ? 'failure' : 'failures';
      this.logger.log(`${this.what} succeeds again, after ${this.failures} ${times}`);
    }
    this.failures = 0;
    this.isReported = false;
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

  /** Begins the pause after a run. */
  begin(hadNothingToDo: boolean): void {
    this.pauseMs = hadNothingToDo ? Math.min(2 * this.pauseMs, this.longestMs) : this.shortestMs;
    // A timer can fire a little early.
    this.endsAtMs = this.clock.monotonicMs() + this.pauseMs - this.shortestMs / 2;
  }
}
