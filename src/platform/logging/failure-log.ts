import type { Logger } from '@nestjs/common';

/** The time between two log lines while work keeps failing. */
const LOG_INTERVAL_MS = 60_000;

/** Logs work that may fail often: the first failure, one per minute, and when it works again. */
export class FailureLog {
  /** The time of the last line, on the clock of `performance`. undefined: the work succeeds. */
  private loggedAtMs: number | undefined;

  constructor(private readonly logger: Logger) {}

  failed(msg: string, err: unknown): void {
    const nowMs = performance.now();
    if (nowMs - (this.loggedAtMs ?? -Infinity) < LOG_INTERVAL_MS) return;
    this.loggedAtMs = nowMs;
    this.logger.warn({ msg, err });
  }

  /** @param msg the line after a failure */
  succeeded(msg: string): void {
    if (this.loggedAtMs !== undefined) this.logger.log(msg);
    this.loggedAtMs = undefined;
  }
}
