import { Module } from '@nestjs/common';
import { PlatformModule } from '#platform';
import { StoreModule } from './store.module.js';

/** The root module of the tests of the platform. */
@Module({ imports: [PlatformModule, StoreModule] })
export class AppModule {}
