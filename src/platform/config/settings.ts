import { readBounds, readLimits } from './bounds.js';
import { readDatabaseSettings } from './database-settings.js';
import { type Environment, EnvironmentReader } from './environment-reader.js';
import { readLoggingSettings } from './logging-settings.js';
import { readRedisSettings } from './redis-settings.js';
import { readServerSettings } from './server-settings.js';

/** The validated settings of the service. No other class reads environment variables. */
export class Settings {
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
  constructor(environment: Environment = process.env) {
    const read = new EnvironmentReader(environment);
    this.server = readServerSettings(read);
    this.database = readDatabaseSettings(read);
    this.redis = readRedisSettings(read);
    this.limits = readLimits(read);
    this.bounds = readBounds(read);
    this.logging = readLoggingSettings(read);
    read.requireValid();
  }
}
