import pg, { type ClientConfig } from 'pg';
import type { DataSourceOptions } from 'typeorm';
import type { Settings } from '../config/settings.js';
import { clientConfig } from './client-config.js';
import { migrations } from './migrations/index.js';
import { PooledServiceClient, ServiceClient } from './service-client.js';

/**
 * Returns TypeORM's options for a connection pool of the service. Every wait in it is bounded.
 *
 * @param connection where the server is
 * @param pooled whether a pooler may stand between, which knows no start-up parameters and may not
 *   know prepared statements
 */
export function dataSourceOptions(
  connection: ClientConfig,
  settings: Settings,
  { pooled = false, poolSize = settings.databasePoolSize } = {},
): DataSourceOptions {
  return {
    type: 'postgres',
    driver: pg,
    migrations,
    poolSize,
    extra: {
      ...clientConfig(connection, settings, { pooled }),
      Client: pooled ? PooledServiceClient : ServiceClient,
    },
  };
}
