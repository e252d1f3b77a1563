import { Global, Module, type Type } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE, DiscoveryModule } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { ClsModule } from 'nestjs-cls';
import { AccessModule } from './access/access.module.js';
import { DatabaseModule } from './database/database.module.js';
import { EventsModule } from './events/events.module.js';
import { HealthController } from './health/health.controller.js';
import { Readiness } from './health/readiness.js';
import { ArrivingBodies } from './http/body/arriving-bodies.js';
import { DemoKey } from './http/openapi/demo-key.js';
import { DocumentationController } from './http/openapi/documentation.controller.js';
import { InterfaceDescription } from './http/openapi/interface-description.js';
import { UnmatchedController } from './http/routing/unmatched.controller.js';
import { ServiceMetrics } from './metrics/service-metrics.js';
import { AT_CLOSE, FILTER, GUARDS, MIDDLEWARE, PIPE } from './pipeline.js';
import { ProcessModule } from './process.module.js';
import { RateLimitModule } from './rate-limit/rate-limit.module.js';

/** What every feature gets. The root module imports it beside the features. */
@Global()
@Module({
  imports: [
    ProcessModule,
    // Not forRoot(), which adds an interceptor to every route. RequestContextMiddleware enters the context.
    ClsModule,
    ScheduleModule.forRoot(),
    DatabaseModule,
    AccessModule,
    DiscoveryModule,
    RateLimitModule,
    EventsModule,
  ],
  controllers: [HealthController, DocumentationController, UnmatchedController],
  providers: [
    DemoKey,
    InterfaceDescription,
    Readiness,
    ServiceMetrics,
    ArrivingBodies,
    ...new Set<Type>([...MIDDLEWARE, ...GUARDS, ...AT_CLOSE]),
    ...GUARDS.map((guard) => ({ provide: APP_GUARD, useExisting: guard })),
    { provide: APP_PIPE, useClass: PIPE },
    { provide: APP_FILTER, useClass: FILTER },
  ],
  // Every module can inject these.
  exports: [DemoKey, ClsModule, Readiness],
})
export class PlatformModule {}
