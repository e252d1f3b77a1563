import { PartialType, PickType } from '@nestjs/swagger';
import { IsObject, IsOptional, IsString, Length } from 'class-validator';
import { IsOptionalMember, IsText } from '#dist/platform/http/validation/property-rules.js';

export class NewNote {
  @IsText(1, 200)
  text!: string;

  @IsOptional()
  @IsObject()
  labels?: Record<string, unknown> | null;

  @IsOptionalMember()
  @IsString({ each: true })
  @Length(1, 20, { each: true })
  tags?: string[];

  @IsOptionalMember()
  @Length(2, 5)
  language?: string;
}

export class NoteChanges extends PartialType(NewNote, { skipNullProperties: false }) {}

export class NoteText extends PickType(NoteChanges, ['text']) {}

export class NotesQuery {
  @IsOptionalMember()
  @IsText(1, 50)
  text?: string;
}
