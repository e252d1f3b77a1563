import { Logger } from '@nestjs/common';
import { RedisFailure, type RedisFailureReason } from './redis-failure.js';

const PROBE_EVERY_MS = 500;

/**
 * Whether the counters in Redis are used. The first failure opens it: from then on no request waits for Redis, until a
 * probe in the background has been answered. It is open until it is started.
 */
export class Circuit {
  private readonly logger = new Logger(Circuit.name);
  private closed = false;
  private stopped = false;
  private timer: NodeJS.Timeout | undefined;
  private loggedReason: RedisFailureReason | undefined;
  private lastReadingAtMs = performance.now();

  /** How often it opened and closed, and what failed how often. */
  readonly statistics = {
    opened: 0,
    closed: 0,
    failures: { timeout: 0, connection: 0, authentication: 0, refusal: 0, memory: 0 },
  };

  /** @param probe asks Redis; in bounded time it returns, or throws a RedisFailure */
  constructor(private readonly probe: () => Promise<void>) {}

  get isOpen(): boolean {
    return !this.closed;
  }

  /** Returns how old the last reading of Redis is, in milliseconds; 0 while Redis is used. */
  lastReadingAgeMs(): number {
    return this.closed ? 0 : performance.now() - this.lastReadingAtMs;
  }

  /** Probes for the first time, so that nothing is logged when Redis is there. */
  async start(): Promise<void> {
    const failure = await this.failureOfProbe();
    if (failure) this.giveUp(failure);
    else this.use();
  }

  /** Nothing is changed or logged any more. */
  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  /** Takes note of an answer. */
  noteReading(): void {
    this.lastReadingAtMs = performance.now();
  }

  /** Takes note of a failure, without opening for it. */
  noteFailure({ reason }: RedisFailure): void {
    this.statistics.failures[reason]++;
  }

  /** Opens. */
  open(failure: RedisFailure): void {
    if (!this.closed || this.stopped) return;
    this.statistics.opened++;
    this.giveUp(failure);
  }

  private giveUp(failure: RedisFailure): void {
    this.closed = false;
    this.log('limits are counted in this process', failure);
    this.probeLater();
  }

  private log(effect: string, failure: RedisFailure): void {
    this.loggedReason = failure.reason;
    this.logger.warn({ msg: `${effect}: ${failure.message}`, err: failure });
  }

  private use(): void {
    this.noteReading();
    this.closed = true;
  }

  private probeLater(): void {
    this.timer = setTimeout(() => void this.probeAgain(), PROBE_EVERY_MS);
    this.timer.unref();
  }

  private async probeAgain(): Promise<void> {
    const failure = await this.failureOfProbe();
    if (this.stopped) return;
    if (failure) {
      // An operator has to act, and the first line said only that the connection was lost.
      if (failure.reason === 'authentication' && this.loggedReason !== 'authentication') {
        this.log('limits are still counted in this process', failure);
      }
      this.probeLater();
      return;
    }
    this.use();
    this.statistics.closed++;
    this.logger.log({ msg: 'limits are counted in Redis again' });
  }

  private async failureOfProbe(): Promise<RedisFailure | undefined> {
    try {
      await this.probe();
      return undefined;
    } catch (error) {
      const failure =
        error instanceof RedisFailure ? error : new RedisFailure('refusal', { cause: error });
      this.noteFailure(failure);
      return failure;
    }
  }
}
