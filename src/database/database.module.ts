import { type DynamicModule, Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { Settings } from '../config/settings.js';
import { ErrorTranslator } from '../errors/error-translator.js';
import { connectionPool } from './pools/connection-pool.js';
import { dataSourceOptions } from './data-source-options.js';
import { DatabaseErrors } from './database-errors.js';
import { DatabaseLoad } from './pools/database-load.js';
import type { DatabaseLocation } from './database-location.js';
import { LookupPools } from './pools/lookup-pools.js';
import { PooledStatements } from './pipelining/pooled-statements.js';
import { AppendOnlyReader } from './standbys/append-only-reader.js';
import { createStandbys, Standbys } from './standbys/standbys.js';

/** Injection token: where the database is. */
export const DATABASE_LOCATION = Symbol('database location');

/** The connection pool, for every module that has entities, and the standbys. */
@Global()
@Module({})
export class DatabaseModule {
  static forRoot(location: DatabaseLocation, settings: Settings): DynamicModule {
    const pooled = settings.database.isPooled;
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRoot({
          ...dataSourceOptions(location.pooled, settings.database, { pooled, forRequests: true }),
          autoLoadEntities: true,
          // A server that cannot be reached ends the start with one line; whoever runs it starts it again.
          retryAttempts: 0,
        }),
      ],
      providers: [
        { provide: DATABASE_LOCATION, useValue: location },
        { provide: ErrorTranslator, useClass: DatabaseErrors },
        {
          provide: PooledStatements,
          inject: [DataSource],
          useFactory: (dataSource: DataSource) => new PooledStatements(connectionPool(dataSource)),
        },
        {
          provide: DatabaseLoad,
          inject: [DataSource],
          useFactory: (dataSource: DataSource) => new DatabaseLoad(connectionPool(dataSource)),
        },
        {
          provide: LookupPools,
          inject: [DataSource],
          useFactory: (dataSource: DataSource) =>
            new LookupPools(location.pooled, settings, connectionPool(dataSource)),
        },
        { provide: Standbys, useFactory: () => createStandbys(settings.database) },
        AppendOnlyReader,
      ],
      exports: [
        AppendOnlyReader,
        DATABASE_LOCATION,
        DatabaseLoad,
        ErrorTranslator,
        LookupPools,
        PooledStatements,
        Standbys,
      ],
    };
  }
}
