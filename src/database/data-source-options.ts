import pg, { type ClientConfig } from 'pg';
import type { DataSourceOptions } from 'typeorm';
import type { DatabaseSettings } from '../config/database-settings.js';
import { migrations } from './migrations/index.js';
import { BoundedPool } from './pools/bounded-pool.js';
import { poolConfig, type PoolUse } from './pools/client-config.js';

/** TypeORM's pg driver. TypeORM uses only its `Pool`. */
const driver = { ...pg, Pool: BoundedPool };

/**
 * Returns TypeORM's options for a connection pool of the service. Every wait in it is bounded.
 *
 * @param connection where the server is
 */
export function dataSourceOptions(
  connection: ClientConfig,
  settings: DatabaseSettings,
  use: PoolUse = {},
): DataSourceOptions {
  return {
    type: 'postgres',
    driver,
    migrations,
    extra: poolConfig(connection, settings, use),
  };
}
