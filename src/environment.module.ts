import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Clock } from './config/clock.js';
import { Settings } from './config/settings.js';
import { LinkBase } from './http/routing/link-base.js';

/** The settings, the clock and the prefix of URLs in `Link` headers, for every module. */
@Global()
@Module({})
export class EnvironmentModule {
  static forRoot(settings: Settings, clock: Clock, linkBase: LinkBase): DynamicModule {
    return {
      module: EnvironmentModule,
      providers: [
        { provide: Settings, useValue: settings },
        { provide: Clock, useValue: clock },
        { provide: LinkBase, useValue: linkBase },
      ],
      exports: [Settings, Clock, LinkBase],
    };
  }
}
