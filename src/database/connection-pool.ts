import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';

/** Returns pg's pool of a data source, which TypeORM keeps to itself; the data source closes it. */
export function connectionPool(dataSource: DataSource): Pool {
  return (dataSource.driver as unknown as { master: Pool }).master;
}
