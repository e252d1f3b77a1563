import { Body, Controller, Get, Param, ParseUUIDPipe, Patch, Post, Query } from '@nestjs/common';
import { EntityManager } from 'typeorm';
import { CallerKey } from '#dist/platform/access/caller-key.decorator.js';
import type { CachedKey } from '#dist/platform/access/cached-key.js';
import { IdempotencyKey } from '#dist/platform/idempotency/idempotency-key.decorator.js';
import { Idempotency } from '#dist/platform/idempotency/idempotency.js';
import { NewNote, NoteChanges, NotesQuery, NoteText } from './note.dto.js';
import { Note } from './note.entity.js';

@Controller('notes')
export class NotesController {
  constructor(
    private readonly manager: EntityManager,
    private readonly idempotency: Idempotency,
  ) {}

  @Post()
  create(
    @Body() note: NewNote,
    @CallerKey() { ownerId }: CachedKey,
    @IdempotencyKey() key?: string,
  ): Promise<Note> {
    const add = (manager: EntityManager) => manager.save(Note, note);
    if (key === undefined) return add(this.manager);
    return this.idempotency.once({ ownerId, key, operation: 'createNote', content: note }, add);
  }

  @Get()
  list(@Query() query: NotesQuery): Promise<Note[]> {
    return this.manager.findBy(Note, query);
  }

  @Get(':id')
  get(@Param('id', ParseUUIDPipe) id: string): Promise<Note> {
    return this.manager.findOneByOrFail(Note, { id });
  }

  @Get('named/:name')
  named(@Param('name') text: string): Promise<Note> {
    return this.manager.findOneByOrFail(Note, { text });
  }

  @Patch(':id')
  async update(
    @Param('id', ParseUUIDPipe) id: string,
    @Body() changes: NoteChanges,
  ): Promise<Note> {
    await this.manager.update(Note, { id }, changes as object);
    return this.get(id);
  }

  @Patch(':id/text')
  updateText(@Param('id', ParseUUIDPipe) id: string, @Body() changes: NoteText): Promise<Note> {
    return this.update(id, changes);
  }
}
