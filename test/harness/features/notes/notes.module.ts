import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IdempotencyModule } from '#dist/platform/idempotency/idempotency.module.js';
import { Author, DraftsController } from './drafts.controller.js';
import { Note } from './note.entity.js';
import { NotesController } from './notes.controller.js';

@Module({
  imports: [TypeOrmModule.forFeature([Note]), IdempotencyModule],
  controllers: [NotesController, DraftsController],
  providers: [Author],
})
export class NotesModule {}
