import { Module } from '@nestjs/common';
import { PlatformModule } from '#platform';
import { DemoModule } from './demo/demo.module.js';
import { PetsModule } from './pets/pets.module.js';
import { PLANS } from './plans.js';
import { PRODUCT } from './product.js';

/** The root: the platform, and the features of the team. `nest generate` adds to it. */
@Module({
  imports: [PlatformModule.forRoot({ product: PRODUCT, plans: PLANS }), DemoModule, PetsModule],
})
export class AppModule {}
