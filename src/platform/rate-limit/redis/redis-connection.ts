import { setTimeout as delay } from 'node:timers/promises';
import { context } from '@opentelemetry/api';
import { Cluster, Redis, type RedisOptions, ReplyError } from 'ioredis';
import type { RedisSettings } from '../../config/redis-settings.js';
import { UNTRACED } from '../../tracing/spans.js';
import { type Budget, endOfBan, type LimitMode, type RateLimitDecision } from '../limit-storage.js';
import { limitScripts } from './limit-script.js';
import { RedisFailure } from './circuit.js';
import { createConnector } from './connector.js';
import { renewCredentials } from './redis-credentials.js';

const START_TIMEOUT_MS = 1_000;
/** Shorter, so that the first failure has a cause. */
const CONNECT_TIMEOUT_MS = 900;
/** A connection without a reply for this time is replaced: its other end may be unreachable. */
const SOCKET_TIMEOUT_MS = 3_000;
const MAX_RECONNECT_DELAY_MS = 1_000;
/** Servers close connections that are idle for longer (`timeout`), and networks forget them. */
const PING_INTERVAL_MS = 10_000;
/** How long a change of masters in a Cluster can go unnoticed if no node reports it. */
const TOPOLOGY_REFRESH_MS = 5_000;

/** ioredis gives it to commands of a broken connection. It does not say why the connection broke. */
const VAGUE_MESSAGE = 'Connection is closed.';
const DEFAULT_CAUSE = 'the connection was closed';
const MISSING_ADDRESSES =
  'no node of the Cluster reports slots with its address. Set cluster-preferred-endpoint-type ip, or hostname with cluster-announce-hostname, and assign all slots';

const NO_BAN = { unbanCount: 0, afterRejections: 0, lengthMs: 0 };

/** The commands that ioredis adds to a client for the scripts. */
type Scripts = Record<
  Budget['kind'],
  (key: string, ...values: (string | number)[]) => Promise<number[]>
>;

/** Runs scripts on a Redis server or Cluster, each in bounded time. Reconnects automatically. */
export class RedisConnection {
  readonly client;
  private lastError: unknown;
  private lacksAddresses = false;
  /** Whether the server has rejected the user or the password of the connection. */
  private isRejected = false;
  private pings: NodeJS.Timeout | undefined;

  constructor(private readonly settings: RedisSettings) {
    const record = (error: unknown): void => this.recordError(error);
    this.client = createClient(settings, createConnector(record));
    renewCredentials(this.client, settings);
    for (const [name, lua] of Object.entries(limitScripts(settings.database)))
      this.client.defineCommand(name, { lua, numberOfKeys: 1 });
    // Without a listener, ioredis prints errors. These events explain why the next command fails.
    this.client.on('error', record).on('node error', record);
    // After AUTH has failed, commands that were already sent run as the default user.
    this.client.on('connect', () => (this.isRejected = false));
    this.client.on('error', ({ command }: { command?: { name: string } }) => {
      this.isRejected ||= command?.name === 'auth';
    });
    this.client.on('refresh', () => {
      // A node without an address is left out, or called `?`.
      const hosts = this.servers().map(({ options }) => options.host);
      this.lacksAddresses = hosts.length === 0 || hosts.includes('?');
    });
  }

  /** Waits for the first connection, at most one second. Later attempts run in the background. */
  async open(): Promise<void> {
    const limit = delay(START_TIMEOUT_MS, undefined, { ref: false });
    this.pings = setInterval(() => this.ping(), PING_INTERVAL_MS).unref();
    await Promise.race([this.client.connect().catch(() => undefined), limit]);
  }

  close(): void {
    clearInterval(this.pings);
    this.client.disconnect();
  }

  /**
   * Decides on a request for a budget. Also returns the rejections of its lineage, if there are any.
   *
   * @param mode `probe`: counts nothing, and fails if a request can fail
   * @throws RedisFailure
   */
  async decide({ kind, id, quotas, ban }: Budget, mode: LimitMode | 'probe') {
    if (this.client.status !== 'ready') throw this.connectionFailure();
    const scripts = this.client as unknown as Scripts;
    const { unbanCount, afterRejections, lengthMs } = ban ?? NO_BAN;
    // A span would have the key, which contains the address of a caller without an API key.
    const run = () =>
      scripts[kind](
        `${this.settings.prefix}{${kind}:${id}}`,
        mode,
        quotas.length,
        unbanCount,
        afterRejections,
        lengthMs,
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
    return this.withTimeout(Promise.all(this.servers().map((server) => server.info())));
  }

  /** A server without a response is noticed by `socketTimeout`. An error is a response. */
  private ping(): void {
    for (const server of this.servers())
      if (server.status === 'ready') server.ping().catch(() => undefined);
  }

  private servers(): Redis[] {
    return this.client instanceof Cluster ? this.client.nodes('master') : [this.client];
  }

  private withTimeout<Value>(reply: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      // A reply that arrived while this process was busy is read before the immediate runs.
      const expire = (): void => reject(new RedisFailure('timeout'));
      const timer = setTimeout(setImmediate, this.settings.commandTimeoutMs, expire);
      reply.then(
        (value) => {
          clearTimeout(timer);
          if (this.isRejected) return reject(this.connectionFailure());
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
      if ((error as Error).message.startsWith('OOM ')) return new RedisFailure('memory', error);
      this.recordError(error);
    }
    // Its message contains that of the last reply.
    if ((error as Error).message.startsWith('Too many Cluster')) this.recordError(error);
    return this.connectionFailure();
  }

  private recordError(error: unknown): void {
    // If every node of a Cluster failed, the cause is the error of the last one that was tried.
    const cause = (error as { lastNodeError?: Error } | undefined)?.lastNodeError ?? error;
    const { message, command } = cause as Error & { command?: { name: string } };
    if (message === VAGUE_MESSAGE) return;
    // An ACL need not allow it.
    if (command?.name === 'info' && message.startsWith('NOPERM ')) return;
    // ioredis does not wait for the reply to AUTH: the commands after it fail with vaguer errors.
    if (!(this.lastError instanceof ReplyError)) this.lastError = cause;
  }

  /** Returns why there is no connection. */
  connectionFailure(): RedisFailure {
    if (this.lacksAddresses) return new RedisFailure('connection', MISSING_ADDRESSES);
    const reason = this.lastError instanceof ReplyError ? 'rejection' : 'connection';
    return new RedisFailure(reason, this.lastError ?? DEFAULT_CAUSE);
  }
}

function parseRejections([count, windowEndsAtMs = 0, bannedUntilMs = 0, unbanCount = 0]: number[]) {
  return count === undefined ? undefined : { count, windowEndsAtMs, bannedUntilMs, unbanCount };
}

/**
 * Returns a client that is not connected yet. It reconnects automatically. It does not retry
 * commands that may have run. Send commands only while its status is `ready`: a Cluster would queue them.
 */
function createClient({ urls, ca }: RedisSettings, Connector: RedisOptions['Connector']) {
  const [url = ''] = urls;
  const options: RedisOptions = {
    Connector,
    ...(ca !== undefined && { tls: { ca } }),
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    keepAlive: 5_000,
    disableClientInfo: true,
    // The probe of the circuit fails while a server loads its data.
    enableReadyCheck: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    lazyConnect: true,
  };
  if (urls.length === 1) {
    return new Redis(url, {
      ...options,
      retryStrategy: reconnectDelayMs,
      // The address may lead to another master by now.
      reconnectOnError: ({ message }) => message.startsWith('READONLY '),
    });
  }
  // The nodes report the addresses of the others, without these.
  const { protocol, username, password } = new URL(url);
  return new Cluster([...urls], {
    redisOptions: {
      ...options,
      ...(protocol === 'rediss:' && { tls: { ...(ca !== undefined && { ca }) } }),
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
    },
    // The certificate of a node can have its name only.
    dnsLookup: (name, callback) => callback(null, name),
    // Otherwise it rejects commands for a node while it connects to it: a new or promoted master.
    enableOfflineQueue: true,
    enableReadyCheck: false,
    lazyConnect: true,
    clusterRetryStrategy: reconnectDelayMs,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    slotsRefreshInterval: TOPOLOGY_REFRESH_MS,
    // Redirections to the node of a moved slot are followed. Commands that may have run are not retried.
    maxRedirections: 4,
    retryDelayOnFailover: 0,
    // During a planned failover, a node can reject commands for the slots for a moment.
    retryDelayOnClusterDown: 20,
  });
}

function reconnectDelayMs(attempts: number): number {
  return Math.min(attempts * 100, MAX_RECONNECT_DELAY_MS);
}
