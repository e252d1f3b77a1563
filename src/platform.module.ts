import { Module, type Type, type VersioningOptions, VersioningType } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE, DiscoveryModule } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { ApiKeyGuard } from './auth/api-key.guard.js';
import { AuthModule } from './auth/auth.module.js';
import { IdentifyCallerGuard } from './auth/identify-caller.guard.js';
import type { Clock } from './config/clock.js';
import type { Settings } from './config/settings.js';
import type { DatabaseLocation } from './database/database-location.js';
import { DatabaseModule } from './database/database.module.js';
import { EnvironmentModule } from './environment.module.js';
import { HealthModule } from './health/health.module.js';
import { JsonBodyGuard } from './http/body/json-body.guard.js';
import { ErrorFilter } from './http/response/error.filter.js';
import type { LinkBase } from './http/routing/link-base.js';
import { UnmatchedModule } from './http/routing/unmatched.module.js';
import { ValidationPipe } from './http/validation/validation.pipe.js';
import { IdempotencyKeyGuard } from './idempotency/idempotency-key.guard.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { PlanThrottlerGuard } from './rate-limit/plan-throttler.guard.js';
import { RateLimitModule } from './rate-limit/rate-limit.module.js';
import { RouteChecks } from './route-checks.js';

/** A controller without a version, as the Nest CLI generates it, belongs to v1. */
export const VERSIONING: VersioningOptions = { type: VersioningType.URI, defaultVersion: '1' };

export interface AppEnvironment {
  settings: Settings;
  clock: Clock;
  database: DatabaseLocation;
  /** The feature modules, in place of AppModule. */
  features?: readonly Type[];
}

/** Returns the root module. Each request passes the providers in the order of the list. */
export function platformModule(environment: AppEnvironment, linkBase: LinkBase): Type {
  const { settings, clock, database, features = [AppModule] } = environment;

  // A class, because Nest would register the imports of a dynamic module before those of AppModule.
  @Module({
    imports: [
      DiscoveryModule,
      EnvironmentModule.forRoot(settings, clock, linkBase),
      DatabaseModule.forRoot(database, settings),
      AuthModule,
      RateLimitModule,
      HealthModule,
      MetricsModule,
      ...features,
      // The catch-all route must come last: it matches every path.
      UnmatchedModule,
    ],
    providers: [
      { provide: APP_GUARD, useClass: IdentifyCallerGuard },
      // Runs before authentication, so that a 401 is counted and has the rate limit headers.
      { provide: APP_GUARD, useClass: PlanThrottlerGuard },
      { provide: APP_GUARD, useClass: ApiKeyGuard },
      { provide: APP_GUARD, useClass: IdempotencyKeyGuard },
      // The service reads no byte of the body of a request that a guard above rejects.
      { provide: APP_GUARD, useClass: JsonBodyGuard },
      { provide: APP_PIPE, useClass: ValidationPipe },
      { provide: APP_FILTER, useClass: ErrorFilter },
      RouteChecks,
    ],
  })
  class PlatformModule {}
  return PlatformModule;
}
