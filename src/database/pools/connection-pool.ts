import type { DataSource } from 'typeorm';
import type { BoundedPool } from './bounded-pool.js';

/**
 * Returns the connection pool of a data source, which TypeORM does not expose. The data source
 * closes it.
 */
export function connectionPool(dataSource: DataSource): BoundedPool {
  return (dataSource.driver as unknown as { master: BoundedPool }).master;
}
