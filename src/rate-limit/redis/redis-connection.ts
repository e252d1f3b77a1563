import { Cluster, ReplyError } from 'ioredis';
import type { RedisAddress } from '../../config/redis-address.js';
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
    // Without a listener they would be printed. They come before a command fails that does not know why.
    const remember = (error: unknown): void => {
      this.lastError = error;
    };
    this.client.on('error', remember).on('node error', remember);
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
    if (error instanceof ReplyError) return new RedisFailure('refusal', { cause: error });
    return this.lost();
  }

  private lost(): RedisFailure {
    return new RedisFailure('connection', { cause: this.lastError });
  }
}

function isReply(error: unknown, code: string): boolean {
  return error instanceof ReplyError && (error as Error).message.startsWith(`${code} `);
}
