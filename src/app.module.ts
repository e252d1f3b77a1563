import { Module } from '@nestjs/common';
import { DemoModule } from './demo/demo.module.js';
import { PetsModule } from './pets/pets.module.js';

/** The features of the service. */
@Module({ imports: [PetsModule, DemoModule] })
export class AppModule {}
