import { Module } from '@nestjs/common';
import { PetsModule } from './pets/pets.module.js';

/** The features of the service. */
@Module({ imports: [PetsModule] })
export class AppModule {}
