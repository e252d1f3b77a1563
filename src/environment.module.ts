import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Clock } from './config/clock.js';
import { Settings } from './config/settings.js';
import { BackgroundJobs } from './database/background-job.js';
import { LinkBase } from './http/routing/link-base.js';

/** What every module can inject: settings, clock, jobs, and the prefix of URLs in `Link` headers. */
@Global()
@Module({})
export class EnvironmentModule {
  static forRoot(settings: Settings, clock: Clock, linkBase: LinkBase): DynamicModule {
    return {
      module: EnvironmentModule,
      providers: [
        BackgroundJobs,
        { provide: Settings, useValue: settings },
        { provide: Clock, useValue: clock },
        { provide: LinkBase, useValue: linkBase },
      ],
      exports: [BackgroundJobs, Settings, Clock, LinkBase],
    };
  }
}
