import { Module } from '@nestjs/common';
import { PlatformModule } from '#platform';
import { PRODUCT } from '../../../../src/product.js';
import { StoreModule } from './store.module.js';

/** The root module of the tests of the platform. */
@Module({ imports: [PlatformModule.forRoot(PRODUCT), StoreModule] })
export class AppModule {}
