import { Global, Logger, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource, type DataSourceOptions } from 'typeorm';
import type { DatabaseSettings } from '../config/database-settings.js';
import { BoundedPool } from './pools/bounded-pool.js';
import { CLIENT_TIMEOUT_MARGIN_MS, dataSourceOptions } from './data-source-options.js';
import { DatabaseLocation } from './database-location.js';
import { DatabaseProbe } from './pools/database-probe.js';
import { PipelinedStatements } from './pipelining/pipelined-statements.js';
import { StoreDataSource } from './store-data-source.js';

/** The connections of all modules. */
@Global()
@Module({})
export class DatabaseModule {
  /** @param ready resolves when the schema is up to date. Until then, no provider gets the DataSource */
  static forRoot(location: DatabaseLocation, settings: DatabaseSettings, ready?: Promise<unknown>) {
    const providers = [
      { provide: DatabaseLocation, useValue: location },
      { provide: BoundedPool, inject: [DataSource, DatabaseProbe], useFactory: openPool },
      DatabaseProbe,
      PipelinedStatements,
    ];
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRootAsync({
          useFactory: () => ({
            ...dataSourceOptions(location.connection, settings),
            autoLoadEntities: true,
            // They run on connections of their own.
            migrations: [],
            // The process exits with one line if the server is unreachable. A supervisor restarts it.
            toRetry: () => false,
          }),
          // A whole transaction has the time limit of one statement.
          dataSourceFactory: async (options) => {
            await ready;
            const limitMs = settings.statementTimeoutMs + CLIENT_TIMEOUT_MARGIN_MS;
            return new StoreDataSource(options as DataSourceOptions, limitMs);
          },
        }),
      ],
      providers,
      exports: providers,
    };
  }
}

/** Returns the pool of the connections that serve requests, all open. TypeORM closes it. */
async function openPool({ driver }: DataSource, probe: DatabaseProbe): Promise<BoundedPool> {
  // First, in case the server allows fewer connections.
  await probe.state();
  const { master: pool } = driver as unknown as { master: BoundedPool };
  const failure = await pool.open();
  if (failure) {
    const message = `Only ${pool.options.max} database connections: ${failure.message}`;
    new Logger(DatabaseModule.name).warn(message);
  }
  return pool;
}
