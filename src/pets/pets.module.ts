import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AdministrationModule, FilesModule, IdempotencyModule } from '#platform';
import { AnimalsCommands } from './animals.commands.js';
import { Pet } from './pet.entity.js';
import { PetsController } from './pets.controller.js';
import { PetsRepository } from './pets.repository.js';
import { PetsService } from './pets.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Pet]), AdministrationModule, FilesModule, IdempotencyModule],
  controllers: [PetsController],
  providers: [PetsService, PetsRepository, AnimalsCommands],
  exports: [PetsService],
})
export class PetsModule {}
