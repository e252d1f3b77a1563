import {
  type DynamicModule,
  Global,
  Inject,
  Module,
  type OnApplicationShutdown,
  Optional,
  type Type,
} from '@nestjs/common';
import type { Logger } from 'pino';
import { Operator } from './commands/operator.js';
import { Clock } from './config/clock.js';
import type { Product } from './config/product.js';
import { Settings } from './config/settings.js';
import { DatabaseLocation, locateDatabase } from './database/database-location.js';
import { makeSchemaCurrent, SCHEMA_CURRENT } from './database/schema/migrate.js';
import { createLog, LOGGER } from './logging/logger.js';

/** What a process has before its application. ProcessModule creates the rest. */
export interface Prepared {
  settings?: Settings;
  clock?: Clock;
  logger?: Logger;
  database?: DatabaseLocation;
  /** Resolves when the schema of the database is up to date. */
  schemaCurrent?: Promise<unknown>;
}

const PREPARED = Symbol('prepared');
const prepared = { token: PREPARED, optional: true };

/** Returns the root module for an application that uses what its process has prepared. */
export function withPrepared(root: Type, values: Prepared, ...controllers: Type[]): DynamicModule {
  const providers = [{ provide: PREPARED, useValue: values }];
  return { module: root, global: true, providers, controllers, exports: [PREPARED] };
}

/** What belongs to the process: settings, clock, log and database server. */
@Global()
@Module({
  providers: [
    Operator,
    {
      provide: Clock,
      inject: [prepared],
      useFactory: (values?: Prepared) =>
        values?.clock ?? { now: Date.now, monotonicMs: () => performance.now() },
    },
    {
      provide: LOGGER,
      inject: [Settings, prepared],
      useFactory: async ({ logging }: Settings, values?: Prepared) =>
        values?.logger ?? (await createLog(logging)).logger,
    },
    {
      provide: DatabaseLocation,
      inject: [Settings, prepared],
      useFactory: ({ database }: Settings, values?: Prepared) =>
        values?.database ?? locateDatabase(database, 'service'),
    },
    {
      provide: SCHEMA_CURRENT,
      inject: [Settings, DatabaseLocation, LOGGER, prepared],
      useFactory: (
        settings: Settings,
        location: DatabaseLocation,
        logger: Logger,
        values?: Prepared,
      ) => values?.schemaCurrent ?? makeSchemaCurrent(settings, location, logger),
    },
  ],
  exports: [Operator, Clock, LOGGER, DatabaseLocation, SCHEMA_CURRENT],
})
export class ProcessModule implements OnApplicationShutdown {
  constructor(
    private readonly database: DatabaseLocation,
    @Optional() @Inject(PREPARED) private readonly values?: Prepared,
  ) {}

  static forRoot(product: Product): DynamicModule {
    const useFactory = (values?: Prepared) => values?.settings ?? new Settings(product);
    const settings = { provide: Settings, inject: [prepared], useFactory };
    return { module: ProcessModule, providers: [settings], exports: [Settings] };
  }

  /** After the connections of the application are closed. The process closes what it has prepared. */
  async onApplicationShutdown(): Promise<void> {
    if (!this.values?.database) await this.database.close();
  }
}
