import {
  type DynamicModule,
  Global,
  Inject,
  type InjectionToken,
  Module,
  type OnApplicationShutdown,
  Optional,
  type Type,
} from '@nestjs/common';
import type { Logger } from 'pino';
import { Terminal } from './commands/terminal.js';
import { Clock } from './config/clock.js';
import type { Product } from './config/product.js';
import { Settings } from './config/settings.js';
import { DatabaseLocation, locateDatabase } from './database/database-location.js';
import { makeSchemaCurrent, SCHEMA_CURRENT } from './database/schema/migrate.js';
import { createLog, LOGGER } from './logging/logger.js';

/** The objects that a process has before its application. ProcessModule creates the others. */
export interface Prepared {
  settings?: Settings;
  clock?: Clock;
  logger?: Logger;
  database?: DatabaseLocation;
  /** Resolves when the schema of the database is up to date. */
  schemaCurrent?: Promise<unknown>;
}

const PREPARED = Symbol('prepared');

/** Returns the root module for an application that uses what its process has prepared. */
export function withPrepared(root: Type, values: Prepared, ...controllers: Type[]): DynamicModule {
  const providers = [{ provide: PREPARED, useValue: values }];
  return { module: root, global: true, providers, controllers, exports: [PREPARED] };
}

/** Returns a provider of what the process has prepared, or of what `create` returns. */
const provider = <Injected extends unknown[]>(
  provide: InjectionToken,
  name: keyof Prepared,
  inject: InjectionToken[],
  create: (...injected: Injected) => unknown,
) => ({
  provide,
  inject: [{ token: PREPARED, optional: true }, ...inject],
  useFactory: (values: Prepared | undefined, ...injected: Injected) =>
    values?.[name] ?? create(...injected),
});

/** Provides the objects of the process: settings, clock, log and database server. */
@Global()
@Module({
  providers: [
    Terminal,
    provider(Clock, 'clock', [], () => ({ now: Date.now, monotonicMs: () => performance.now() })),
    provider(LOGGER, 'logger', [Settings], async ({ logging }: Settings) => {
      return (await createLog(logging)).logger;
    }),
    provider(DatabaseLocation, 'database', [Settings], ({ database }: Settings) =>
      locateDatabase(database, 'service'),
    ),
    provider(
      SCHEMA_CURRENT,
      'schemaCurrent',
      [Settings, DatabaseLocation, LOGGER],
      makeSchemaCurrent,
    ),
  ],
  exports: [Terminal, Clock, LOGGER, DatabaseLocation, SCHEMA_CURRENT],
})
export class ProcessModule implements OnApplicationShutdown {
  constructor(
    private readonly database: DatabaseLocation,
    @Optional() @Inject(PREPARED) private readonly values?: Prepared,
  ) {}

  static forRoot(product: Product): DynamicModule {
    const settings = provider(Settings, 'settings', [], () => new Settings(product));
    return { module: ProcessModule, providers: [settings], exports: [Settings] };
  }

  /** After the connections of the application are closed. The process closes what it has prepared. */
  async onApplicationShutdown(): Promise<void> {
    if (!this.values?.database) await this.database.close();
  }
}
