import { readBounds, readLimits } from './bounds.js';
import { readDatabaseSettings } from './database-settings.js';
import { type Environment, EnvironmentReader } from './environment-reader.js';
import type { Product } from './product.js';
import { readRedisSettings } from './redis-settings.js';
import { readServerSettings } from './server-settings.js';
import { readVersion } from './version.js';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export type LoggingSettings = Readonly<ReturnType<typeof readLoggingSettings>>;

function readLoggingSettings(read: EnvironmentReader, keyPrefix: string) {
  return {
    /** API keys, which begin with it, are masked. */
    keyPrefix,
    level: read.oneOf('LOG_LEVEL', LEVELS, 'info'),
    /** Client addresses in the log: in full, as networks (IPv4 /24, IPv6 /48), or not at all. */
    clientAddress: read.oneOf('LOG_CLIENT_ADDRESS', ['full', 'network', 'off'], 'full'),
    /** Bytes of log lines that are buffered while standard output cannot be written. */
    bufferBytes: read.integer('LOG_BUFFER_BYTES', 4_194_304, { min: 65_536, max: 1_073_741_824 }),
  };
}

/** The validated settings of the service, and the product. */
export class Settings {
  /** The version of the service. */
  readonly version;
  readonly server;
  readonly database;
  /** undefined: the service counts requests in its own memory. */
  readonly redis;
  readonly limits;
  readonly bounds;
  readonly logging;

  /**
   * @param environment the variables, `process.env` by default
   * @throws StartError that describes every invalid setting
   */
  constructor(
    readonly product: Product,
    environment: Environment = process.env,
  ) {
    const read = new EnvironmentReader(environment);
    this.version = readVersion(product.folder);
    this.server = readServerSettings(read);
    this.database = readDatabaseSettings(read, product);
    this.redis = readRedisSettings(read, product.redisPrefix);
    this.limits = readLimits(read);
    this.bounds = readBounds(read, this.database.poolSize);
    this.logging = readLoggingSettings(read, product.keyPrefix);
    read.requireValid();
  }
}
