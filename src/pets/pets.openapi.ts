import { applyDecorators } from '@nestjs/common';
import {
  ApiBody,
  ApiCreatedResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
} from '@nestjs/swagger';
import { ApiErrors } from '../http/openapi/decorators/api-errors.decorator.js';
import { ApiList } from '../http/openapi/decorators/api-model.decorator.js';
import { ApiPage } from '../http/openapi/decorators/api-page.decorator.js';
import { ApiTag } from '../http/openapi/decorators/api-tag.decorator.js';
import { MAX_PAGE_SIZE } from './dto/list-pets-query.dto.js';
import { NewPet } from './dto/new-pet.dto.js';
import { Pet } from './pet.entity.js';

const TAG = { name: 'Pets', description: 'Individual animals that are available for adoption.' };

const FRANK = { id: 1, name: 'Frank', categoryId: 1, status: 'available' };
const MINKA = { id: 2, name: 'Minka', categoryId: 2, status: 'pending' };

@ApiList(Pet, {
  description: 'A page of animals, in ascending order of id.',
  maxItems: MAX_PAGE_SIZE,
  example: [FRANK, MINKA],
})
class Pets {}

export function DescribeListPets(): MethodDecorator {
  return applyDecorators(
    ApiTag(TAG),
    ApiOperation({
      operationId: 'listPets',
      summary: 'List animals',
      description:
        'Returns a page of animals in ascending order of id, all of them or those with a status.',
    }),
    ApiPage({ type: Pets, description: 'A page of animals.', example: [FRANK, MINKA] }),
    ApiErrors({
      invalid_request: 'limit must be an integer from 1 to 100.',
      invalid_cursor: 'cursor must be taken from the Link of a page with the same status.',
    }),
  );
}

export function DescribeCreatePet(): MethodDecorator {
  return applyDecorators(
    ApiTag(TAG),
    ApiOperation({
      operationId: 'createPet',
      summary: 'Add an animal',
      description:
        'Adds an animal and returns it with its id. Members that an animal does not have are ignored, an id among them.',
    }),
    ApiBody({
      type: NewPet,
      required: true,
      description:
        'The animal to be added, 102,400 bytes at the most. It may be encoded as gzip or br.',
      examples: {
        available: {
          summary: 'An animal that can be adopted at once',
          value: { name: 'Frank', categoryId: 1 },
        },
        pending: {
          summary: 'One that is already spoken for',
          value: { name: 'Minka', categoryId: 2, status: 'pending' },
        },
      },
    }),
    ApiCreatedResponse({ type: Pet, description: 'The animal, with its id.', example: FRANK }),
    ApiErrors({
      invalid_request:
        'name is required and must be a string of 1 to 255 characters, at least one of them not white space, without NUL or lone surrogates; status must be one of available, pending, sold.',
      malformed_json: 'The request body cannot be parsed: it takes JSON in UTF-8.',
    }),
  );
}

export function DescribeGetPet(): MethodDecorator {
  return applyDecorators(
    ApiTag(TAG),
    ApiOperation({
      operationId: 'getPet',
      summary: 'Get an animal',
      description: 'Returns the animal with this identifier.',
    }),
    ApiParam({
      name: 'petId',
      description: "The animal's identifier. What is not an integer in int64 names no animal: 404.",
      schema: { type: 'integer', format: 'int64', example: FRANK.id },
    }),
    ApiOkResponse({ type: Pet, description: 'The animal.', example: FRANK }),
    ApiErrors({ pet_not_found: 'No animal has this identifier.' }),
  );
}
