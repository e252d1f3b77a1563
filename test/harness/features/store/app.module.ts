import { Module } from '@nestjs/common';
import { PlatformModule } from '#platform';
import { PRODUCT } from '../../../../src/product.js';
import { PLANS } from './plans.js';
import { StoreModule } from './store.module.js';

/** The root module of the tests of the platform. */
@Module({ imports: [PlatformModule.forRoot({ product: PRODUCT, plans: PLANS }), StoreModule] })
export class AppModule {}
