import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsText } from '#platform';
import { PETS_NAME_LENGTH } from './migrations/1795132800001-create-pets.js';

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
