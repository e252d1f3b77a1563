import { type DynamicModule, Global, Module } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock } from './config/clock.js';
import { Settings } from './config/settings.js';
import { PublicUrl } from './http/routing/public-url.js';
import { Connections } from './http/server/connections.js';
import { BackgroundJobs } from './jobs/background-jobs.js';
import { LOGGER } from './logging/logger.js';

/** The providers that every module can inject. */
@Global()
@Module({})
export class CoreModule {
  static forRoot(
    settings: Settings,
    clock: Clock,
    publicUrl: PublicUrl,
    logger: Logger,
  ): DynamicModule {
    return {
      module: CoreModule,
      providers: [
        BackgroundJobs,
        { provide: Settings, useValue: settings },
        { provide: Clock, useValue: clock },
        { provide: PublicUrl, useValue: publicUrl },
        { provide: LOGGER, useValue: logger },
        Connections,
      ],
      exports: [BackgroundJobs, Settings, Clock, PublicUrl, LOGGER, Connections],
    };
  }
}
