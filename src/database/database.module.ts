import { type DynamicModule, Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { Settings } from '../config/settings.js';
import { ErrorTranslator } from '../errors/error-translator.js';
import { BoundedPool } from './pools/bounded-pool.js';
import { dataSourceOptions } from './data-source-options.js';
import { DatabaseErrors } from './database-errors.js';
import type { DatabaseLocation } from './database-location.js';
import { LookupPools } from './pools/lookup-pools.js';
import { PipelinedStatements } from './pipelining/pipelined-statements.js';
import { createStandbys, Standbys } from './standbys/standbys.js';
import { Transactions } from './transactions.js';

/** Injection token of the DatabaseLocation. */
export const DATABASE_LOCATION = Symbol('database location');

/** The connection pool of all modules with entities, and the standbys. */
@Global()
@Module({})
export class DatabaseModule {
  static forRoot(location: DatabaseLocation, settings: Settings): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRoot({
          ...dataSourceOptions(location.requests, settings.database, { forRequests: true }),
          autoLoadEntities: true,
          // The process exits with one line if the server is unreachable. A supervisor restarts it.
          retryAttempts: 0,
        }),
      ],
      providers: [
        { provide: DATABASE_LOCATION, useValue: location },
        { provide: ErrorTranslator, useClass: DatabaseErrors },
        {
          provide: Transactions,
          inject: [DataSource],
          useFactory: (dataSource: DataSource) =>
            new Transactions(dataSource, settings.database.statementTimeoutMs),
        },
        { provide: BoundedPool, inject: [DataSource], useFactory: poolOf },
        {
          provide: PipelinedStatements,
          inject: [BoundedPool],
          useFactory: (pool: BoundedPool) => new PipelinedStatements(pool),
        },
        {
          provide: LookupPools,
          inject: [BoundedPool],
          useFactory: (pool: BoundedPool) => new LookupPools(location.requests, settings, pool),
        },
        {
          provide: Standbys,
          inject: [PipelinedStatements, LookupPools, DataSource],
          useFactory: (
            primary: PipelinedStatements,
            lookups: LookupPools,
            dataSource: DataSource,
          ) => createStandbys(settings.database, primary, lookups, dataSource),
        },
      ],
      exports: [
        BoundedPool,
        DATABASE_LOCATION,
        ErrorTranslator,
        LookupPools,
        PipelinedStatements,
        Standbys,
        Transactions,
      ],
    };
  }
}

/** Returns the pool of the connections that serve requests. TypeORM closes it. */
function poolOf({ driver }: DataSource): BoundedPool {
  return (driver as unknown as { master: BoundedPool }).master;
}
