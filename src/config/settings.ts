import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { type Bounds, readBounds } from './bounds.js';
import { EnvironmentReader, type Environment } from './environment-reader.js';
import { parseRedisAddress, type RedisSettings } from './redis-address.js';
import { SettingError } from './setting-error.js';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** How the log shows client addresses: whole, as networks (IPv4 /24, IPv6 /48), or not at all. */
export const CLIENT_ADDRESS_FORMS = ['full', 'network', 'off'] as const;
export type ClientAddressForm = (typeof CLIENT_ADDRESS_FORMS)[number];

const PORT = { min: 0, max: 65_535 };

/** Every setting of the service, validated. The only place that reads environment variables. */
export class Settings {
  readonly port: number;
  readonly host: string;
  /** undefined: no metrics listener. */
  readonly metricsPort: number | undefined;
  readonly metricsHost: string;
  /** Base addresses without the version segment and without a trailing slash. */
  readonly publicUrl: string | undefined;
  readonly stagingUrl: string | undefined;

  /** undefined: the embedded server in `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly databaseDirectUrl: string | undefined;
  /** Whether DATABASE_URL leads to a pooler: to another server than DATABASE_DIRECT_URL, not only as another role. */
  readonly databaseIsPooled: boolean;
  /** Streaming standbys for reads; [] when there are none. */
  readonly databaseReplicaUrls: readonly string[];
  readonly databasePoolSize: number;
  /** How many calls may wait for a connection. */
  readonly databaseQueueSize: number;
  /** Connections for lookups of cached API keys, and as many for lookups of other API keys. */
  readonly databaseLookupPoolSize: number;
  /** How many lookups of API keys that are not cached may wait for a connection. */
  readonly maxQueuedKeyLookups: number;
  /** Lookups per second for an address over its anonymous budget. */
  readonly keyLookupsPerSecond: number;
  /** How many API keys are cached. */
  readonly keyCacheSize: number;
  readonly readinessTimeoutMs: number;
  readonly databasePoolWaitMs: number;
  readonly databaseStatementTimeoutMs: number;
  readonly databaseLockTimeoutMs: number;
  readonly migrateOnStart: boolean;
  readonly dataDir: string;

  /** undefined: counters are in the process. */
  readonly redis: RedisSettings | undefined;

  /** As Express's `trust proxy` takes it: a number of proxies, or their addresses. */
  readonly trustProxy: number | string[];
  readonly anonymousRequestsPerMinute: number;
  /** undefined: the plan's per-minute limit; 0: never ban. */
  readonly banAfterRefusals: number | undefined;
  readonly banMs: number;
  readonly corsOrigins: readonly string[];
  readonly logLevel: LogLevel;
  readonly logClientAddress: ClientAddressForm;
  /** How many bytes of log lines may wait while standard output cannot be written. */
  readonly logBufferBytes: number;

  readonly maxDocsDownloads: number;
  readonly bounds: Bounds;

  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly stalledConnectionTimeoutMs: number;
  readonly shutdownDelayMs: number;
  readonly shutdownGraceMs: number;

  /**
   * @param environment the variables, `process.env` by default
   * @throws SettingError on the first setting that is invalid
   */
  constructor(environment: Environment = process.env) {
    const read = new EnvironmentReader(environment);

    this.port = read.integer('PORT', { ...PORT, fallback: 3000 });
    this.host = read.text('HOST') ?? '127.0.0.1';
    this.metricsPort =
      read.raw('METRICS_PORT') === ''
        ? undefined
        : read.integer('METRICS_PORT', { ...PORT, fallback: 9464 });
    this.metricsHost = read.text('METRICS_HOST') ?? '127.0.0.1';
    this.publicUrl = baseAddress(read, 'PUBLIC_URL');
    this.stagingUrl = baseAddress(read, 'STAGING_URL');

    this.databaseUrl = databaseUrl(read, 'DATABASE_URL');
    this.databaseDirectUrl = databaseUrl(read, 'DATABASE_DIRECT_URL') ?? this.databaseUrl;
    if (this.databaseUrl === undefined && this.databaseDirectUrl !== undefined) {
      throw new SettingError('DATABASE_DIRECT_URL', 'a value only beside DATABASE_URL');
    }
    this.databaseIsPooled =
      withoutCredentials(this.databaseUrl) !== withoutCredentials(this.databaseDirectUrl);
    this.databaseReplicaUrls = replicaUrls(read);
    if (this.databaseUrl === undefined && this.databaseReplicaUrls.length > 0) {
      throw new SettingError('DATABASE_REPLICA_URLS', 'a value only beside DATABASE_URL');
    }
    this.databasePoolSize = read.integer('DATABASE_POOL_SIZE', { min: 1, max: 1000, fallback: 10 });
    this.databaseQueueSize = read.integer('DATABASE_QUEUE_SIZE', {
      min: 1,
      max: 100_000,
      fallback: 500,
    });
    this.databaseLookupPoolSize = read.integer('DATABASE_LOOKUP_POOL_SIZE', {
      min: 1,
      max: 100,
      fallback: 2,
    });
    this.maxQueuedKeyLookups = read.integer('MAX_QUEUED_KEY_LOOKUPS', {
      min: 1,
      max: 100_000,
      fallback: 100,
    });
    this.keyLookupsPerSecond = read.integer('KEY_LOOKUPS_PER_SECOND', {
      min: 1,
      max: 1_000_000,
      fallback: 10,
    });
    this.keyCacheSize = read.integer('KEY_CACHE_SIZE', {
      min: 1,
      max: 10_000_000,
      fallback: 100_000,
    });
    this.readinessTimeoutMs = read.seconds('READINESS_TIMEOUT_SECONDS', {
      min: 0.05,
      max: 60,
      fallback: 0.4,
    });
    this.databasePoolWaitMs = read.seconds('DATABASE_POOL_WAIT_SECONDS', {
      min: 0.1,
      max: 60,
      fallback: 2,
    });
    this.databaseStatementTimeoutMs = read.seconds('DATABASE_STATEMENT_TIMEOUT_SECONDS', {
      min: 0.1,
      max: 60,
      fallback: 2,
    });
    this.databaseLockTimeoutMs = read.seconds('DATABASE_LOCK_TIMEOUT_SECONDS', {
      min: 0.1,
      max: 60,
      fallback: 2,
    });
    this.migrateOnStart = read.boolean('MIGRATE_ON_START', true);
    this.dataDir = resolve(read.text('DATA_DIR') ?? '.data');

    this.redis = redis(read);

    this.trustProxy = trustProxy(read);
    this.anonymousRequestsPerMinute = read.integer('ANONYMOUS_REQUESTS_PER_MINUTE', {
      min: 1,
      max: 1_000_000_000,
      fallback: 300,
    });
    this.banAfterRefusals =
      read.text('BAN_AFTER_REFUSALS') === undefined
        ? undefined
        : read.integer('BAN_AFTER_REFUSALS', { min: 0, max: 1_000_000_000, fallback: 0 });
    this.banMs = read.seconds('BAN_SECONDS', { min: 0, max: 31_536_000, fallback: 300 });
    this.corsOrigins = corsOrigins(read);
    this.logLevel = read.oneOf('LOG_LEVEL', LOG_LEVELS, 'info');
    this.logClientAddress = read.oneOf('LOG_CLIENT_ADDRESS', CLIENT_ADDRESS_FORMS, 'full');
    this.logBufferBytes = read.integer('LOG_BUFFER_BYTES', {
      min: 65_536,
      max: 1_073_741_824,
      fallback: 4_194_304,
    });

    this.bounds = readBounds(read);

    this.maxDocsDownloads = read.integer('MAX_DOCS_DOWNLOADS', {
      min: 1,
      max: 1_000_000,
      fallback: 100,
    });
    this.headersTimeoutMs = read.seconds('HEADERS_TIMEOUT_SECONDS', {
      min: 0.1,
      max: 600,
      fallback: 10,
    });
    this.requestTimeoutMs = read.seconds('REQUEST_TIMEOUT_SECONDS', {
      min: 0.1,
      max: 3600,
      fallback: 30,
    });
    // Longer than the 60 s after which common load balancers drop an idle connection: the side that
    // closes first must not be this one, or a request in flight meets a closed socket.
    this.keepAliveTimeoutMs = read.seconds('KEEP_ALIVE_TIMEOUT_SECONDS', {
      min: 0.1,
      max: 3600,
      fallback: 65,
    });
    this.stalledConnectionTimeoutMs = read.seconds('STALLED_CONNECTION_TIMEOUT_SECONDS', {
      min: 0.1,
      max: 3600,
      fallback: 60,
    });
    this.shutdownDelayMs = read.seconds('SHUTDOWN_DELAY_SECONDS', {
      min: 0,
      max: 600,
      fallback: 0,
    });
    this.shutdownGraceMs = read.seconds('SHUTDOWN_GRACE_SECONDS', {
      min: 0,
      max: 600,
      fallback: 10,
    });
  }
}

function redis(read: EnvironmentReader): RedisSettings | undefined {
  const prefix = read.text('REDIS_PREFIX') ?? 'aas:';
  // Braces would decide the slot in a Cluster.
  if (!/^[^{}\s\p{C}]{1,100}$/u.test(prefix)) {
    throw new SettingError('REDIS_PREFIX', 'up to 100 characters without braces and white space');
  }
  const commandTimeoutMs = read.seconds('REDIS_COMMAND_TIMEOUT_SECONDS', {
    min: 0.01,
    max: 1,
    fallback: 0.1,
  });
  const text = read.secret('REDIS_URL');
  if (text === undefined) return undefined;
  return { address: parseRedisAddress('REDIS_URL', text), prefix, commandTimeoutMs };
}

function baseAddress(read: EnvironmentReader, name: string): string | undefined {
  const text = read.text(name);
  if (text === undefined) return undefined;
  const url = parseUrl(text, ['http:', 'https:']);
  if (!url || url.search || url.hash || url.username || url.password || /[\s<>"]/.test(text)) {
    throw new SettingError(
      name,
      'an http or https address without query, such as https://api.example.org',
    );
  }
  return url.href.replace(/\/+$/, '');
}

function databaseUrl(read: EnvironmentReader, name: string): string | undefined {
  const text = read.secret(name);
  if (text !== undefined && !isDatabaseUrl(text)) {
    throw new SettingError(name, 'an address such as postgres://user:password@host:5432/database');
  }
  return text;
}

function withoutCredentials(databaseUrl: string | undefined): string | undefined {
  if (databaseUrl === undefined) return undefined;
  const { host, pathname, search } = new URL(databaseUrl);
  return host + pathname + search;
}

function replicaUrls(read: EnvironmentReader): string[] {
  const name = 'DATABASE_REPLICA_URLS';
  const addresses = read.secret(name)?.split(/\s*,\s*/) ?? [];
  if (!addresses.every((address) => isDatabaseUrl(address) && !/\s/.test(address))) {
    throw new SettingError(
      name,
      'addresses such as postgres://user:password@host:5432/database, comma-separated',
    );
  }
  return addresses;
}

function isDatabaseUrl(text: string): boolean {
  const url = parseUrl(text, ['postgres:', 'postgresql:']);
  return url !== undefined && decodes(url.href);
}

function decodes(text: string): boolean {
  try {
    return decodeURIComponent(text) !== '';
  } catch {
    return false;
  }
}

function parseUrl(text: string, protocols: readonly string[]): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url && protocols.includes(url.protocol) ? url : undefined;
}

function trustProxy(read: EnvironmentReader): number | string[] {
  const text = read.text('TRUST_PROXY') ?? '0';
  if (/^\d{1,3}$/.test(text)) return Number(text);
  const addresses = read.list('TRUST_PROXY');
  if (!addresses.length || !addresses.every(isAddressOrSubnet)) {
    throw new SettingError(
      'TRUST_PROXY',
      'a number of proxies, or their addresses or subnets, comma-separated',
    );
  }
  return addresses;
}

function isAddressOrSubnet(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return (
    prefix === undefined ||
    (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128))
  );
}

function corsOrigins(read: EnvironmentReader): string[] {
  const origins = read.list('CORS_ORIGINS');
  for (const origin of origins) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      throw new SettingError(
        'CORS_ORIGINS',
        'origins such as https://app.example.org, comma-separated',
      );
    }
  }
  return origins;
}
