import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { describeCause } from '../../errors/error-details.js';

const PROBE_INTERVAL_MS = 500;

const MESSAGES = {
  timeout: 'Redis did not respond in time',
  connection: 'Redis is unreachable',
  rejection: 'Redis rejected the password or the command',
  memory: 'Redis is out of memory',
};

/** A failed command. Its message has that of its cause, whose properties can contain a password. */
export class RedisFailure extends Error {
  override readonly name = 'RedisFailure';

  constructor(
    readonly reason: keyof typeof MESSAGES,
    cause?: unknown,
  ) {
    const text = cause === undefined ? '' : `: ${describeCause(cause)}`;
    // Redis repeats the arguments of an unknown command, such as the address of a caller.
    super(MESSAGES[reason] + text.replace(/, with args.*/, ''));
  }
}

/**
 * Decides whether requests are counted in Redis. The first failure opens the circuit. Then no
 * request waits for Redis until a probe in the background succeeds.
 */
export class Circuit {
  private readonly logger = new Logger(Circuit.name);
  /** Why requests are counted in this process. undefined: the circuit is closed. */
  cause: RedisFailure | undefined;
  private stopped = false;

  /** The number of commands that failed, by reason. */
  readonly failures = { timeout: 0, connection: 0, rejection: 0, memory: 0 };

  /** @param probe sends a command to Redis; throws RedisFailure, in bounded time */
  constructor(private readonly probe: () => Promise<unknown>) {}

  /** Whether requests are counted in this process. */
  get isOpen(): boolean {
    return this.cause !== undefined;
  }

  /** Ends probing. After this, the state does not change and nothing is logged. */
  stop(): void {
    this.stopped = true;
  }

  /** Counts a failure, and opens the circuit. Redis without free memory still counts owners. */
  recordFailure(failure: RedisFailure): void {
    this.failures[failure.reason]++;
    if (failure.reason !== 'memory') this.open(failure);
  }

  /** Opens the circuit and starts probing. Does nothing if the circuit is open already. */
  open(failure: RedisFailure): void {
    if (this.isOpen || this.stopped) return;
    this.cause = failure;
    this.logger.warn(`Counting rate limits in this process: ${failure.message}`);
    void this.probeUntilClosed();
  }

  private async probeUntilClosed(): Promise<void> {
    for (;;) {
      await delay(PROBE_INTERVAL_MS, undefined, { ref: false });
      const failure = await this.probe().then(
        () => undefined,
        (error: unknown) => error as RedisFailure,
      );
      if (this.stopped) return;
      if (failure) this.recordFailure(failure);
      if (!failure || failure.reason === 'memory') break;
    }
    this.cause = undefined;
    this.logger.log('Counting rate limits in Redis again');
  }
}
