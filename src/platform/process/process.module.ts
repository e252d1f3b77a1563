import { type DynamicModule, Global, Module, type Type } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock, SYSTEM_CLOCK } from '../config/clock.js';
import { Plans } from '../config/plan-limits.js';
import type { StoreOptions } from '../config/product.js';
import { Settings } from '../config/settings.js';
import { DatabaseLocation, locateDatabase } from '../database/database-location.js';
import { prepareSchema } from '../database/schema/migrate.js';
import { createLog, LOGGER } from '../logging/logger.js';

/** The objects that a process creates before its application, and closes after it. */
export abstract class ProcessObjects {
  abstract readonly settings: Settings;
  abstract readonly clock: Clock;
  abstract readonly logger: Logger;
  abstract readonly database: DatabaseLocation;
  /** Resolves when the application may use the schema of the database. Rejects if it is not up to date. */
  abstract readonly schemaReady: Promise<unknown>;
}

/** Returns the root module of an application that uses the objects of its process. */
export function withObjects(
  root: Type,
  objects: ProcessObjects,
  ...controllers: Type[]
): DynamicModule {
  const provider = { provide: ProcessObjects, useValue: objects };
  return {
    module: root,
    global: true,
    controllers,
    providers: [provider],
    exports: [ProcessObjects],
  };
}

/** A test of providers, `Test.createTestingModule({ imports: [AppModule] })`, has no process. */
const OBJECTS = { token: ProcessObjects, optional: true };

/** Provides the objects of the process to every module: settings, clock, log and database server; and the plans. */
@Global()
@Module({})
export class ProcessModule {
  static forRoot({ product, plans }: StoreOptions): DynamicModule {
    const providers = [
      { provide: Plans, useValue: new Plans(plans) },
      {
        provide: Settings,
        inject: [OBJECTS],
        useFactory: (objects?: ProcessObjects) => objects?.settings ?? new Settings(product),
      },
      {
        provide: Clock,
        inject: [OBJECTS],
        useFactory: (objects?: ProcessObjects) => objects?.clock ?? SYSTEM_CLOCK,
      },
      {
        provide: LOGGER,
        inject: [Settings, OBJECTS],
        useFactory: async ({ logging }: Settings, objects?: ProcessObjects) =>
          objects?.logger ?? (await createLog(logging)).logger,
      },
      {
        provide: DatabaseLocation,
        inject: [Settings, LOGGER, OBJECTS],
        useFactory: prepareDatabase,
      },
    ];
    return { module: ProcessModule, providers, exports: providers };
  }
}

/** No module gets the database before its schema is up to date. */
async function prepareDatabase(
  settings: Settings,
  logger: Logger,
  objects?: ProcessObjects,
): Promise<DatabaseLocation> {
  if (objects) {
    await objects.schemaReady;
    return objects.database;
  }
  const database = await locateDatabase(settings.database, 'service');
  await prepareSchema(settings, database, logger);
  // NestJS calls it after the connections are closed.
  return Object.assign(database, { onApplicationShutdown: () => database.close() });
}
