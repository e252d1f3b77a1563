import { type DynamicModule, Global, Module, type NestMiddleware, type Type } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE, DiscoveryModule } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { getOptionsToken } from '@nestjs/throttler';
import { ClsModule } from 'nestjs-cls';
import { AccessModule } from './access/access.module.js';
import { Terminal } from './commands/terminal.js';
import type { StoreOptions } from './config/product.js';
import { DatabaseLocation } from './database/database-location.js';
import { DatabaseModule } from './database/database.module.js';
import { BoundedPool } from './database/pools/bounded-pool.js';
import { EventsModule } from './events/events.module.js';
import { HealthController } from './health/health.controller.js';
import { Readiness } from './health/readiness.js';
import { ArrivingBodies } from './http/body/arriving-bodies.js';
import { DemoKey } from './http/openapi/demo-key.js';
import { OpenApiDescription } from './http/openapi/openapi-description.js';
import { PublicUrl } from './http/request/public-url.js';
import { ResponseObservers, type ResponseObserver } from './http/response/response-observers.js';
import { ApiVersions } from './http/routing/api-versions.js';
import { MiddlewareChain } from './http/routing/middleware-chain.js';
import { RouteTable } from './http/routing/route-table.js';
import { UnmatchedController } from './http/routing/unmatched.controller.js';
import { ConnectionsMiddleware } from './http/server/connections.middleware.js';
import { MalformedMessages } from './http/server/malformed-messages.js';
import { ServiceMetrics } from './metrics/service-metrics.js';
import { FILTER, GUARDS, MIDDLEWARE, OBSERVERS, PIPE } from './pipeline.js';
import { OverloadMiddleware } from './overload.middleware.js';
import { ProcessModule } from './process/process.module.js';
import { THROTTLERS } from './rate-limit/plan-throttler.guard.js';
import { RateLimitModule } from './rate-limit/rate-limit.module.js';

/** Every module can inject these. */
const EXPORTED = [
  DemoKey,
  OpenApiDescription,
  ApiVersions,
  PublicUrl,
  Readiness,
  ServiceMetrics,
  Terminal,
];

/** The platform, for every feature. The root module imports it in addition to the features. */
@Global()
@Module({
  imports: [
    // forRoot() would add an interceptor to every route. RequestContextMiddleware enters the context.
    ClsModule,
    ScheduleModule.forRootAsync({
      inject: [DatabaseLocation],
      useFactory: ({ processKind }: DatabaseLocation) => {
        const isService = processKind === 'service';
        return { cronJobs: isService, intervals: isService, timeouts: isService };
      },
    }),
    DatabaseModule,
    AccessModule,
    DiscoveryModule,
    RateLimitModule,
    EventsModule,
  ],
  controllers: [HealthController, UnmatchedController],
  providers: [
    ...EXPORTED,
    ArrivingBodies,
    MalformedMessages,
    RouteTable,
    ...new Set<Type>([...MIDDLEWARE, ...GUARDS, ...OBSERVERS]),
    {
      provide: MiddlewareChain,
      inject: [...MIDDLEWARE],
      useFactory: (...steps: NestMiddleware[]) => new MiddlewareChain(steps),
    },
    {
      provide: ResponseObservers,
      inject: [...OBSERVERS],
      useFactory: (...observers: ResponseObserver[]) => new ResponseObservers(observers),
    },
    { provide: getOptionsToken(), useValue: THROTTLERS },
    ...GUARDS.map((guard) => ({ provide: APP_GUARD, useExisting: guard })),
    { provide: APP_PIPE, useClass: PIPE },
    { provide: APP_FILTER, useClass: FILTER },
  ],
  exports: [...EXPORTED, ClsModule, RateLimitModule],
})
export class PlatformModule {
  static forRoot(options: StoreOptions): DynamicModule {
    return { module: PlatformModule, imports: [ProcessModule.forRoot(options)] };
  }

  constructor(
    metrics: ServiceMetrics,
    connections: ConnectionsMiddleware,
    overload: OverloadMiddleware,
    bodies: ArrivingBodies,
    pool: BoundedPool,
  ) {
    metrics.add(
      'db_client_connection_count',
      'Connections of the pool, by state',
      () => ({ idle: pool.idleCount, used: pool.totalCount - pool.idleCount }),
      ['state'],
    );
    metrics.add(
      'db_client_connection_pending_requests',
      'Uses of the pool that wait for a connection: a batch of up to 32 statements, a query or a transaction',
      () => pool.waitingCount,
    );
    metrics.add('connections', 'Open client connections', () => connections.size);
    metrics.add('requests_in_progress', 'Requests in progress', () => overload.inProgress);
    metrics.add('arriving_body_bytes', 'Memory of arriving bodies', () => bodies.bytes);
    metrics.add(
      'shed_total',
      'Requests that got 503 and connections that were closed because a bound was reached, by bound',
      () => ({ ...overload.shed, ...connections.closed, arriving_bodies: bodies.rejected }),
      ['bound'],
    );
  }
}
