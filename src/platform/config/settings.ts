import { type Bounds, readBounds } from './bounds.js';
import { type DatabaseSettings, readDatabaseSettings } from './database-settings.js';
import { type Environment, EnvironmentReader } from './environment-reader.js';
import { type LimitSettings, readLimitSettings } from './limit-settings.js';
import { type LoggingSettings, readLoggingSettings } from './logging-settings.js';
import { readRedisSettings, type RedisSettings } from './redis-settings.js';
import { readServerSettings, type ServerSettings } from './server-settings.js';

/** The validated settings of the service. No other class reads environment variables. */
export class Settings {
  readonly server: ServerSettings;
  readonly database: DatabaseSettings;
  /** undefined: the service counts requests in its own memory. */
  readonly redis: RedisSettings | undefined;
  readonly limits: LimitSettings;
  readonly bounds: Bounds;
  readonly logging: LoggingSettings;

  /**
   * @param environment the variables, `process.env` by default
   * @throws SettingError that describes every invalid setting
   */
  constructor(environment: Environment = process.env) {
    const read = new EnvironmentReader(environment);
    this.server = readServerSettings(read);
    this.database = readDatabaseSettings(read);
    this.redis = readRedisSettings(read);
    this.limits = readLimitSettings(read);
    this.bounds = readBounds(read);
    this.logging = readLoggingSettings(read);
    read.requireValid();
  }
}
