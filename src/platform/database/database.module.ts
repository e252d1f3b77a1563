import { type DynamicModule, Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Settings } from '../config/settings.js';
import { ErrorTranslator } from '../errors/error-translator.js';
import { BoundedPool } from './pools/bounded-pool.js';
import { dataSourceOptions } from './data-source-options.js';
import { DatabaseErrors } from './database-errors.js';
import { DatabaseLocation } from './database-location.js';
import { LookupPool } from './pools/lookup-pool.js';
import { PipelinedStatements } from './pipelining/pipelined-statements.js';
import { EntityCheck } from './schema/entity-check.js';
import { Transactions } from './transactions.js';

/** The connections of all modules: those that serve requests, and those for lookups. */
@Global()
@Module({})
export class DatabaseModule {
  static forRoot(location: DatabaseLocation, { database: settings }: Settings): DynamicModule {
    const providers = [
      { provide: DatabaseLocation, useValue: location },
      { provide: ErrorTranslator, useClass: DatabaseErrors },
      { provide: BoundedPool, inject: [DataSource], useFactory: poolOf },
      EntityCheck,
      LookupPool,
      PipelinedStatements,
      Transactions,
    ];
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRoot({
          ...dataSourceOptions(location.connection, settings),
          autoLoadEntities: true,
          // The process exits with one line if the server is unreachable. A supervisor restarts it.
          toRetry: () => false,
        }),
      ],
      providers,
      exports: providers,
    };
  }
}

/** Returns the pool of the connections that serve requests. TypeORM closes it. */
function poolOf({ driver }: DataSource): BoundedPool {
  return (driver as unknown as { master: BoundedPool }).master;
}
