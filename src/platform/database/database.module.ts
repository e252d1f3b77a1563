import { Global, Logger, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { Settings } from '../config/settings.js';
import { BoundedPool } from './pools/bounded-pool.js';
import { dataSourceOptions } from './data-source-options.js';
import { DatabaseLocation } from './database-location.js';
import { DatabaseProbe } from './pools/database-probe.js';
import { PipelinedStatements } from './pipelining/pipelined-statements.js';
import { StoreDataSource } from './pipelining/store-data-source.js';

const PROVIDERS = [
  {
    provide: BoundedPool,
    inject: [DataSource, DatabaseProbe, DatabaseLocation],
    useFactory: openPool,
  },
  DatabaseProbe,
  {
    provide: PipelinedStatements,
    // So that it runs after openPool.
    inject: [DataSource, BoundedPool],
    useFactory: ({ statements }: StoreDataSource) => statements,
  },
];

/** The connections of all modules. */
@Global()
@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      inject: [DatabaseLocation, Settings],
      useFactory: ({ connection, processKind }: DatabaseLocation, { database }: Settings) => ({
        ...dataSourceOptions(connection, database, processKind === 'command' ? 'cli' : ''),
        autoLoadEntities: true,
        // The process exits with one line if the server is unreachable. A supervisor restarts it.
        toRetry: () => false,
      }),
      dataSourceFactory: (options) =>
        Promise.resolve(new StoreDataSource(options as DataSourceOptions)),
    }),
  ],
  providers: PROVIDERS,
  exports: PROVIDERS,
})
export class DatabaseModule {}

/**
 * Returns the pool. A service opens all its connections first, or as many as the server allows. A command has the one that TypeORM has opened,
 * and opens others when it needs them. TypeORM closes the pool.
 */
async function openPool(
  { driver }: DataSource,
  probe: DatabaseProbe,
  { processKind }: DatabaseLocation,
): Promise<BoundedPool> {
  const { master: pool } = driver as unknown as { master: BoundedPool };
  if (processKind === 'command') return pool;
  // First, in case the server allows fewer connections.
  await probe.run();
  probe.watch(pool);
  const failure = await pool.open();
  if (failure) {
    const message = `Only ${pool.options.max} database connections: ${failure.message}`;
    new Logger(DatabaseModule.name).warn(message);
  }
  return pool;
}
