import { setTimeout as delay } from 'node:timers/promises';
import { context } from '@opentelemetry/api';
import { Cluster, ReplyError } from 'ioredis';
import type { RedisSettings } from '../../config/redis-settings.js';
import { UNTRACED } from '../../tracing/spans.js';
import { endOfBan } from '../in-process-storage.js';
import type { Budget, LimitMode, RateLimitDecision } from '../limit-storage.js';
import { LIMIT_SCRIPTS } from './limit-script.js';
import { CONNECT_TIMEOUT_MS, createRedisClient } from './redis-client.js';
import { RedisFailure } from './circuit.js';

const NO_BAN = { unbanCount: 0, afterRejections: 0, lengthMs: 0 };

/** The commands that ioredis adds to a client for LIMIT_SCRIPTS. */
type Scripts = Record<
  Budget['kind'],
  (key: string, ...values: (string | number)[]) => Promise<number[]>
>;

/** Runs scripts on a Redis server or Cluster, each in bounded time. Reconnects automatically. */
export class RedisConnection {
  private readonly client: ReturnType<typeof createRedisClient>;
  private lastError: unknown;

  constructor(private readonly settings: RedisSettings) {
    this.client = createRedisClient(settings);
    for (const [name, lua] of Object.entries(LIMIT_SCRIPTS))
      this.client.defineCommand(name, { lua, numberOfKeys: 1 });
    // Without a listener, ioredis prints errors. These events explain why the next command fails.
    const record = (error: unknown): void => this.recordError(error);
    this.client.on('error', record).on('node error', record);
  }

  /** @param listener called whenever a connection is established */
  onConnected(listener: () => void): void {
    this.client.on('ready', listener);
  }

  /** @param listener called when the connection is lost, or all connections to a Cluster */
  onLost(listener: (failure: RedisFailure) => void): void {
    this.client.on('close', () => listener(this.connectionFailure()));
  }

  /** Waits for the first connection, at most one second. Later attempts run in the background. */
  async open(): Promise<void> {
    const limit = delay(CONNECT_TIMEOUT_MS, undefined, { ref: false });
    await Promise.race([this.client.connect().catch(() => undefined), limit]);
  }

  close(): void {
    this.client.disconnect();
  }

  /**
   * Decides on a request for a budget. Also returns the rejections of its lineage, if there are any.
   *
   * @throws RedisFailure
   */
  async decide({ kind, id, quotas, ban }: Budget, mode: LimitMode) {
    if (this.client.status !== 'ready') throw this.connectionFailure();
    const scripts = this.client as unknown as Scripts;
    const { unbanCount, afterRejections, lengthMs } = ban ?? NO_BAN;
    // A span would have the key, which contains the address of a caller without an API key.
    const run = () =>
      scripts[kind](
        `${this.settings.prefix}{${kind}:${id}}`,
        ...[mode, quotas.length, unbanCount, afterRejections, lengthMs],
        ...quotas.map(({ limit }) => limit),
        ...quotas.map((quota) => quota.lengthMs),
        ...quotas.map((quota) => quota.id),
        ...(ban ? [`ban:${ban.lineageId}`] : []),
      );
    const reply = await this.withTimeout(context.with(UNTRACED, run));
    const [outcome, nowMs = 0, ...numbers] = reply;
    const windows = quotas.map((quota, index) => {
      const [used = 0, endsAtMs = 0] = numbers.slice(2 * index);
      return { quota, used, endsAtMs };
    });
    const rejections = parseRejections(numbers.slice(2 * quotas.length));
    const decision: RateLimitDecision = {
      allowed: outcome === 1,
      nowMs,
      windows,
      bannedUntilMs: endOfBan(ban, rejections, nowMs),
      banBegins: outcome === 2,
    };
    return { decision, rejections };
  }

  /** Returns the reply of each master to INFO. @throws RedisFailure */
  info(): Promise<string[]> {
    const servers = this.client instanceof Cluster ? this.client.nodes('master') : [this.client];
    return this.withTimeout(Promise.all(servers.map((server) => server.info())));
  }

  private withTimeout<Value>(reply: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      // A reply that arrived while this process was busy is read before the immediate runs.
      const expire = (): void => reject(new RedisFailure('timeout'));
      const timer = setTimeout(setImmediate, this.settings.commandTimeoutMs, expire);
      reply.then(
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
    if (error instanceof ReplyError) {
      if ((error as Error).message.startsWith('OOM '))
        return new RedisFailure('memory', { cause: error });
      this.recordError(error);
    }
    // Its message contains that of the last reply.
    if ((error as Error).message.startsWith('Too many Cluster')) this.recordError(error);
    return this.connectionFailure();
  }

  private recordError(error: unknown): void {
    // If every node of a Cluster failed, the cause is the error of the last one that was tried.
    const cause = (error as { lastNodeError?: unknown } | undefined)?.lastNodeError ?? error;
    // ioredis does not wait for the reply to AUTH: the commands after it fail with vaguer errors.
    if (!(this.lastError instanceof ReplyError)) this.lastError = cause;
  }

  private connectionFailure(): RedisFailure {
    const reason = this.lastError instanceof ReplyError ? 'rejection' : 'connection';
    return new RedisFailure(reason, { cause: this.lastError });
  }
}

function parseRejections([count, windowEndsAtMs = 0, bannedUntilMs = 0, unbanCount = 0]: number[]) {
  return count === undefined ? undefined : { count, windowEndsAtMs, bannedUntilMs, unbanCount };
}
