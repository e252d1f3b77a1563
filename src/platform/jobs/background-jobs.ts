import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { FailureLog } from '../logging/failure-log.js';

/** Runs work at an interval, one run after another, until it is stopped. Logs its errors. */
export class BackgroundJob {
  private readonly failures: FailureLog;
  private readonly stopping = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;

  /**
   * @param name identifies the job in the log
   * @param intervalMs the mean time between two runs. Each interval is 50 to 150 % of it, so that
   *   replicas do not run at the same time
   * @param work gets a signal that is aborted when the job stops
   */
  constructor(
    readonly name: string,
    private readonly intervalMs: number,
    private readonly work: (stopSignal: AbortSignal) => Promise<void>,
  ) {
    this.failures = new FailureLog(new Logger(name));
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

  /** Runs the work once, now. @throws its error */
  async runOnce(): Promise<void> {
    await this.work(this.stopping.signal);
  }

  /** Runs the work once, now. Logs its error, unless it has logged one within a minute. */
  async run(): Promise<void> {
    try {
      await this.runOnce();
      this.failures.succeeded('background job works again');
    } catch (error) {
      this.failures.failed('background job failed', error);
    }
  }
}

/** Runs the background jobs of all modules, from the end of the start until the shutdown. */
@Injectable()
export class BackgroundJobs implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly jobs: BackgroundJob[] = [];
  private isStarted = false;

  /**
   * Adds a job. Call it in the constructor of a provider. Every replica runs the job.
   *
   * @param intervalMs the mean time between two runs, and until the first one
   * @param work gets a signal that is aborted at the shutdown, which waits for the run in progress
   */
  every(
    name: string,
    intervalMs: number,
    work: (stopSignal: AbortSignal) => Promise<void>,
  ): BackgroundJob {
    const job = new BackgroundJob(name, intervalMs, work);
    this.jobs.push(job);
    if (this.isStarted) job.start();
    return job;
  }

  /** Runs a job now, for a test. @throws the error of its work */
  async runNow(name: string): Promise<void> {
    const job = this.jobs.find((each) => each.name === name);
    if (!job) throw new Error(`There is no background job with the name ${name}.`);
    await job.runOnce();
  }

  onApplicationBootstrap(): void {
    this.isStarted = true;
    for (const job of this.jobs) job.start();
  }

  /** Nest calls it before it closes the connections to the database. */
  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.jobs.map((job) => job.stop()));
  }
}
