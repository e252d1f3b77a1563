import pg, { type ClientConfig } from 'pg';
import type { DataSourceOptions } from 'typeorm';
import type { DatabaseSettings } from '../config/database-settings.js';
import { BoundedPool } from './pools/bounded-pool.js';
import { clientConfig, type ConnectionUse } from './pools/client-config.js';
import { migrations } from './migrations/index.js';
import { PooledServiceClient, ServiceClient } from './pipelining/service-client.js';

/** The driver as TypeORM uses it: it creates a `Pool`, and reads nothing else. */
const driver = { ...pg, Pool: BoundedPool };

/**
 * Returns TypeORM's options for a connection pool of the service. Every wait in it is bounded.
 *
 * @param connection where the server is
 * @param use what the connections are for, and how many there may be
 */
export function dataSourceOptions(
  connection: ClientConfig,
  settings: DatabaseSettings,
  { poolSize = settings.poolSize, ...use }: ConnectionUse & { poolSize?: number } = {},
): DataSourceOptions {
  return {
    type: 'postgres',
    driver,
    migrations,
    poolSize,
    extra: {
      ...clientConfig(connection, settings, use),
      maxWaiting: settings.queueSize,
      Client: use.pooled ? PooledServiceClient : ServiceClient,
    },
  };
}
