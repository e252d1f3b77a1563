import { Logger } from '@nestjs/common';

/**
 * Runs work at an interval, one run after another, until it is stopped. Logs the error of a run.
 */
export class BackgroundJob {
  private readonly logger: Logger;
  private readonly stopping = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;

  /**
   * @param name identifies the job in the log
   * @param intervalMs the mean time between two runs. Each interval is 50 to 150 % of it, at
   *   random, so that replicas do not run at the same time
   * @param work gets a signal that is aborted when the job stops
   */
  constructor(
    name: string,
    private readonly intervalMs: number,
    private readonly work: (stopSignal: AbortSignal) => Promise<void>,
  ) {
    this.logger = new Logger(name);
  }

  /** Schedules the first run, one interval from now. Does not keep the process running. */
  start(): void {
    this.timer = setTimeout(
      () => {
        this.running = this.run().then(() => {
          if (!this.stopping.signal.aborted) this.start();
        });
      },
      this.intervalMs * (0.5 + Math.random()),
    ).unref();
  }

  /** Resolves when a scheduled run in progress has ended. There is no further run. */
  async stop(): Promise<void> {
    this.stopping.abort();
    clearTimeout(this.timer);
    await this.running;
  }

  /** Runs the work once, now. */
  async run(): Promise<void> {
    try {
      await this.work(this.stopping.signal);
    } catch (error) {
      this.logger.warn({ msg: 'background job failed', err: error });
    }
  }
}
