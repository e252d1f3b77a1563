import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { PETS_NAME_LENGTH } from '../platform/database/migrations/1795132800000-create-store.js';
import { IsText } from '../platform/http/validation/property-rules.js';

/** Validates and describes an animal's name. */
export function PetName(): PropertyDecorator {
  return applyDecorators(
    ApiProperty({
      description:
        "The animal's name. It contains at least one character that is not white space, and no NUL.",
      example: 'Frank',
    }),
    IsText(PETS_NAME_LENGTH.min, PETS_NAME_LENGTH.max),
  );
}
