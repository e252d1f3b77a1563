import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Clock } from './config/clock.js';
import { Settings } from './config/settings.js';
import { LINK_BASE } from './http/routing/deprecation.js';

/** The settings and the clock, for every module. */
@Global()
@Module({})
export class EnvironmentModule {
  static forRoot(settings: Settings, clock: Clock): DynamicModule {
    return {
      module: EnvironmentModule,
      providers: [
        { provide: Settings, useValue: settings },
        { provide: Clock, useValue: clock },
        { provide: LINK_BASE, useValue: settings.server.publicUrl ?? '' },
      ],
      exports: [Settings, Clock, LINK_BASE],
    };
  }
}
