import { Global, Module, type Type } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE, DiscoveryModule } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { ClsModule } from 'nestjs-cls';
import type { Logger } from 'pino';
import { AuthModule } from './access/auth.module.js';
import { Clock } from './config/clock.js';
import { Settings } from './config/settings.js';
import type { DatabaseLocation } from './database/database-location.js';
import { DatabaseModule } from './database/database.module.js';
import { EventsModule } from './events/events.module.js';
import { HealthController } from './health/health.controller.js';
import { Readiness } from './health/readiness.js';
import { ArrivingBodies } from './http/body/arriving-bodies.js';
import { DemoKey } from './http/openapi/demo-key.js';
import {
  DocumentationController,
  NoDocumentationController,
} from './http/openapi/documentation.controller.js';
import { InterfaceDescription } from './http/openapi/interface-description.js';
import { UnmatchedModule } from './http/routing/unmatched.controller.js';
import { LOGGER } from './logging/logger.js';
import { ServiceMetrics } from './metrics/service-metrics.js';
import { AT_CLOSE, FILTER, GUARDS, MIDDLEWARE, PIPE } from './pipeline.js';
import { RateLimitModule } from './rate-limit/rate-limit.module.js';

export interface AppOptions {
  settings: Settings;
  clock: Clock;
  database: DatabaseLocation;
  /** The modules of the features. */
  features: readonly Type[];
  /** Resolves when the schema of the database is up to date. */
  schemaCurrent?: Promise<unknown>;
}

export function platformModule(options: AppOptions, logger: Logger): Type {
  const { settings, clock, database, features, schemaCurrent } = options;

  // A class, because Nest would register the imports of a dynamic module before those of the features.
  @Global()
  @Module({
    imports: [
      // Not forRoot(), which adds an interceptor to every route. RequestContext enters the context.
      ClsModule,
      ScheduleModule.forRoot(),
      DatabaseModule.forRoot(database, settings.database, schemaCurrent),
      AuthModule,
      DiscoveryModule,
      RateLimitModule,
      EventsModule,
      ...features,
      // The catch-all route must come last: it matches every path.
      UnmatchedModule,
    ],
    controllers: [
      HealthController,
      settings.server.docs ? DocumentationController : NoDocumentationController,
    ],
    providers: [
      DemoKey,
      InterfaceDescription,
      Readiness,
      ServiceMetrics,
      { provide: Settings, useValue: settings },
      { provide: Clock, useValue: clock },
      { provide: LOGGER, useValue: logger },
      ArrivingBodies,
      ...new Set<Type>([...MIDDLEWARE, ...GUARDS, ...AT_CLOSE]),
      ...GUARDS.map((guard) => ({ provide: APP_GUARD, useExisting: guard })),
      { provide: APP_PIPE, useClass: PIPE },
      { provide: APP_FILTER, useClass: FILTER },
    ],
    // Every module can inject these.
    exports: [DemoKey, ClsModule, Settings, Clock, LOGGER],
  })
  class PlatformModule {}
  return PlatformModule;
}
