import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { ApiKeyGuard } from './auth/api-key.guard.js';
import { AuthModule } from './auth/auth.module.js';
import type { Clock } from './config/clock.js';
import type { Settings } from './config/settings.js';
import type { DatabaseLocation } from './database/database-location.js';
import { DatabaseModule } from './database/database.module.js';
import { EnvironmentModule } from './environment.module.js';
import { HealthModule } from './health/health.module.js';
import { ResponseDeadlineGuard } from './http/response/response-deadline.guard.js';
import { ErrorFilter } from './http/response/error.filter.js';
import { JsonBodyGuard } from './http/body/json-body.guard.js';
import { UnmatchedModule } from './http/routing/unmatched.module.js';
import { ValidationPipe } from './http/validation/validation.pipe.js';
import { IdempotencyKeyGuard } from './idempotency/idempotency-key.guard.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { PetsModule } from './pets/pets.module.js';
import { PlanThrottlerGuard } from './rate-limit/plan-throttler.guard.js';
import { RateLimitModule } from './rate-limit/rate-limit.module.js';

/** What the application runs on. */
export interface AppEnvironment {
  settings: Settings;
  clock: Clock;
  database: DatabaseLocation;
  /** Modules beside those of the service itself. */
  features?: readonly Type[];
}

/** The features, and what every request to any of them goes through. */
@Module({})
export class AppModule {
  static forRoot({ settings, clock, database, features = [] }: AppEnvironment): DynamicModule {
    return {
      module: AppModule,
      imports: [
        EnvironmentModule.forRoot(settings, clock),
        DatabaseModule.forRoot(database, settings),
        AuthModule,
        RateLimitModule,
        HealthModule,
        MetricsModule,
        PetsModule,
        ...features,
        // Last: it answers for every path that no module before it serves.
        UnmatchedModule,
      ],
      // In the order in which a request meets them.
      providers: [
        // Limits come before the key is asked for, so that a 401 is counted and carries the limit headers.
        { provide: APP_GUARD, useClass: PlanThrottlerGuard },
        { provide: APP_GUARD, useClass: ApiKeyGuard },
        // A key without the form of one is refused before the media type and the size of the body.
        { provide: APP_GUARD, useClass: IdempotencyKeyGuard },
        // The body is read only now: of a caller that was refused, not a byte.
        { provide: APP_GUARD, useClass: JsonBodyGuard },
        // What follows waits for the database: not without end, however often.
        { provide: APP_GUARD, useClass: ResponseDeadlineGuard },
        { provide: APP_PIPE, useClass: ValidationPipe },
        { provide: APP_FILTER, useClass: ErrorFilter },
      ],
    };
  }
}
