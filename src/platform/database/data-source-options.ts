import { fileURLToPath } from 'node:url';
import pg, { type ClientConfig } from 'pg';
import type { DataSourceOptions } from 'typeorm';
import type { DatabaseSettings } from '../config/database-settings.js';
import { BoundedPool } from './pools/bounded-pool.js';
import { connectionConfig, type ConnectionUse } from './pools/client-config.js';

/** The migrations of the platform and of the features, in the build. */
const MIGRATIONS = ['platform/database', '*'].map((folder) =>
  fileURLToPath(new URL(`../../../dist/${folder}/migrations/*.js`, import.meta.url)),
);

/** Returns TypeORM's options for a connection pool of the service. Every wait in it is bounded. */
export function dataSourceOptions(
  connection: ClientConfig,
  settings: DatabaseSettings,
  use?: ConnectionUse,
): DataSourceOptions {
  return {
    type: 'postgres',
    // TypeORM uses only its `Pool`.
    driver: { ...pg, Pool: BoundedPool },
    // Generated UUIDs are gen_random_uuid(), which PostgreSQL has without the extension.
    uuidExtension: 'pgcrypto',
    installExtensions: false,
    migrations: MIGRATIONS,
    // The others print to standard output, which belongs to the results of commands and to the log.
    logger: 'debug',
    extra: connectionConfig(connection, settings, use),
  };
}
