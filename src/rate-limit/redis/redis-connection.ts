import { Cluster, ReplyError } from 'ioredis';
import type { RedisAddress } from '../../config/redis-settings.js';
import { RedisFailure } from '../redis-failure.js';
import type { LimitScript } from './limit-script.js';
import { CONNECT_TIMEOUT_MS, createRedisClient } from './redis-client.js';

/** Runs scripts on a Redis server or Cluster, each in bounded time. Connects again by itself. */
export class RedisConnection {
  private readonly client: ReturnType<typeof createRedisClient>;
  private lastError: unknown;

  /** @param timeoutMs how long a command may take */
  constructor(
    address: RedisAddress,
    private readonly timeoutMs: number,
  ) {
    this.client = createRedisClient(address);
    // Without a listener ioredis prints errors. They arrive before the failure of a command that does not know its cause.
    const keep = (error: unknown): void => this.keepError(error);
    this.client.on('error', keep).on('node error', keep);
  }

  /** @param listener is called whenever a connection has been made */
  onConnected(listener: () => void): void {
    this.client.on('ready', listener);
  }

  /** @param listener is called when the connection is lost; of a Cluster, when all of them are */
  onLost(listener: (failure: RedisFailure) => void): void {
    this.client.on('close', () => listener(this.lost()));
  }

  /** Waits for the first connection, for a second at most. */
  async open(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CONNECT_TIMEOUT_MS);
    });
    // When this attempt fails, the next ones follow all the same.
    await Promise.race([this.client.connect().catch(() => undefined), limit]);
    clearTimeout(timer);
  }

  close(): void {
    this.client.disconnect();
  }

  /**
   * Runs a script on one key.
   *
   * @throws RedisFailure
   */
  run(script: LimitScript, key: string, values: (string | number)[]): Promise<number[]> {
    return this.bounded(this.evaluate(script, key, values));
  }

  /** Returns what each master says of itself. @throws RedisFailure */
  info(): Promise<string[]> {
    const servers = this.client instanceof Cluster ? this.client.nodes('master') : [this.client];
    return this.bounded(Promise.all(servers.map((server) => server.info())));
  }

  private async evaluate({ sha1, text }: LimitScript, key: string, values: (string | number)[]) {
    try {
      return (await this.client.evalsha(sha1, 1, key, ...values)) as number[];
    } catch (error) {
      if (!isReply(error, 'NOSCRIPT')) throw error;
      return (await this.client.eval(text, 1, key, ...values)) as number[];
    }
  }

  private bounded<Value>(answer: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      // An answer that has arrived while this process was busy is read before the immediate.
      const timer = setTimeout(
        () => setImmediate(() => reject(new RedisFailure('timeout'))),
        this.timeoutMs,
      );
      answer.then(
        (value) => {
          clearTimeout(timer);
          this.lastError = undefined;
          resolve(value);
        },
        (error: unknown) => {
          clearTimeout(timer);
          reject(this.failureOf(error));
        },
      );
    });
  }

  private failureOf(error: unknown): RedisFailure {
    if (isReply(error, 'OOM')) return new RedisFailure('memory', { cause: error });
    if (isAuthenticationError(error)) this.keepError(error);
    else if (error instanceof ReplyError) return new RedisFailure('refusal', { cause: error });
    return this.lost();
  }

  private keepError(error: unknown): void {
    const cause = nodeErrorOf(error);
    // ioredis sends commands after AUTH without waiting for its reply: they fail after it, with a less specific error.
    const isConsequence = isAuthenticationError(this.lastError) && isAuthenticationError(cause);
    if (!isConsequence) this.lastError = cause;
  }

  private lost(): RedisFailure {
    const reason = isAuthenticationError(this.lastError) ? 'authentication' : 'connection';
    return new RedisFailure(reason, { cause: this.lastError });
  }
}

/** Returns the error of the node that was tried last, where none of a Cluster's nodes could be used. */
function nodeErrorOf(error: unknown): unknown {
  return (error as { lastNodeError?: unknown } | undefined)?.lastNodeError ?? error;
}

/** Before authentication, Redis ends the connection at a command with more than ten arguments, with a protocol error. */
function isAuthenticationError(error: unknown): boolean {
  return (
    error instanceof ReplyError &&
    /^(?:WRONGPASS|NOAUTH) |^ERR Protocol error: unauthenticated/.test((error as Error).message)
  );
}

function isReply(error: unknown, code: string): boolean {
  return error instanceof ReplyError && (error as Error).message.startsWith(`${code} `);
}
