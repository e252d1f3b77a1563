import { applyDecorators } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { PUBLIC_MESSAGES } from '../platform/errors/public-messages.js';
import { ApiErrors } from '../platform/http/openapi/decorators/api-errors.decorator.js';
import {
  ApiInt64Param,
  ApiJsonBody,
} from '../platform/http/openapi/decorators/api-json.decorator.js';
import { ApiPage } from '../platform/http/openapi/decorators/api-model.decorator.js';
import { NewPet } from './dto/new-pet.dto.js';
import { Pet } from './pet.entity.js';
import { PET_NOT_FOUND } from './pets.errors.js';

const FRANK = { id: 1, name: 'Frank', categoryId: 1, status: 'available' };
const MINKA = { id: 2, name: 'Minka', categoryId: 2, status: 'pending' };

export function DescribeListPets(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'listPets',
      summary: 'List animals',
      description:
        'Returns a page of animals in ascending order of id, optionally only those with one status.',
    }),
    ApiPage(Pet, { name: 'Pets', description: 'A page of animals.', example: [FRANK, MINKA] }),
    ApiErrors({
      invalid_request: 'limit must be an integer from 1 to 100.',
      invalid_cursor: PUBLIC_MESSAGES.invalidCursor,
    }),
  );
}

export function DescribeCreatePet(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'createPet',
      summary: 'Add an animal',
      description:
        'Adds an animal and returns it with the assigned id. Unknown properties are ignored, including id.',
    }),
    ApiJsonBody(NewPet, 'The animal to add.', {
      available: {
        summary: 'An animal that is available for adoption',
        value: { name: 'Frank', categoryId: 1 },
      },
      pending: {
        summary: 'An animal whose adoption is pending',
        value: { name: 'Minka', categoryId: 2, status: 'pending' },
      },
    }),
    ApiCreatedResponse({
      type: Pet,
      description: 'The animal with its assigned id.',
      example: FRANK,
    }),
    ApiErrors({
      invalid_request:
        'name is required and must be a string of 1 to 255 characters, at least one of them not white space, without NUL or lone surrogates; status must be one of available, pending, sold.',
    }),
  );
}

export function DescribeGetPet(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getPet',
      summary: 'Get an animal',
      description: 'Returns the animal with this identifier.',
    }),
    ApiInt64Param(
      'petId',
      "The animal's identifier. A value that is not an int64 integer gets 404.",
    ),
    ApiOkResponse({ type: Pet, description: 'The animal.', example: FRANK }),
    ApiErrors(PET_NOT_FOUND),
  );
}
