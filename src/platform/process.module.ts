import {
  type DynamicModule,
  Global,
  type InjectionToken,
  Module,
  type OnApplicationShutdown,
  type Type,
} from '@nestjs/common';
import type { Logger } from 'pino';
import { Terminal } from './commands/terminal.js';
import { Clock, SYSTEM_CLOCK } from './config/clock.js';
import type { Product } from './config/product.js';
import { Settings } from './config/settings.js';
import { DatabaseLocation, locateDatabase } from './database/database-location.js';
import { prepareSchema } from './database/schema/migrate.js';
import { createLog, LOGGER } from './logging/logger.js';

/** Objects that exist once in a process, and before its application. */
abstract class ProcessObjects {
  abstract readonly settings: Settings;
  abstract readonly clock: Clock;
  abstract readonly logger: Logger;
  abstract readonly database: DatabaseLocation;
  /** Resolves when the application may use the schema of the database. Rejects if it is not up to date. */
  abstract readonly schemaReady: Promise<unknown>;
}

/** The token of the objects that a process hands to its application. The process closes them. */
export abstract class PreparedObjects extends ProcessObjects {}

/** Returns the root module of an application that uses the objects of its process. */
export function withPrepared(
  root: Type,
  prepared: PreparedObjects,
  ...controllers: Type[]
): DynamicModule {
  const provider = { provide: PreparedObjects, useValue: prepared };
  return {
    module: root,
    global: true,
    controllers,
    providers: [provider],
    exports: [PreparedObjects],
  };
}

const provider = (provide: InjectionToken, useFactory: (objects: ProcessObjects) => unknown) => ({
  provide,
  inject: [ProcessObjects],
  useFactory,
});

/** Every module can inject these. */
const PROVIDERS = [
  Terminal,
  provider(Settings, (objects) => objects.settings),
  provider(Clock, (objects) => objects.clock),
  provider(LOGGER, (objects) => objects.logger),
  // No module gets the database before its schema is up to date.
  provider(DatabaseLocation, ({ database, schemaReady }) => schemaReady.then(() => database)),
];

/** Provides the objects of the process: settings, clock, log and database server. */
@Global()
@Module({ providers: PROVIDERS, exports: PROVIDERS })
export class ProcessModule {
  static forRoot(product: Product): DynamicModule {
    const objects = {
      provide: ProcessObjects,
      inject: [{ token: PreparedObjects, optional: true }],
      // NestFactory.create(AppModule) has no process that has prepared them.
      useFactory: (prepared?: PreparedObjects) => prepared ?? createObjects(product),
    };
    return { module: ProcessModule, providers: [objects] };
  }
}

/** Returns objects that the application closes, after its connections to the database. */
async function createObjects(product: Product): Promise<ProcessObjects & OnApplicationShutdown> {
  const settings = new Settings(product);
  const { logger } = await createLog(settings.logging);
  const database = await locateDatabase(settings.database, 'service');
  return {
    settings,
    clock: SYSTEM_CLOCK,
    logger,
    database,
    schemaReady: prepareSchema(settings, database, logger),
    onApplicationShutdown: () => database.close(),
  };
}
