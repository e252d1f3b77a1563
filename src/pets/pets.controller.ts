import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiParam } from '@nestjs/swagger';
import {
  ApiErrors,
  ApiPage,
  Caller,
  Deprecated,
  IdempotencyKey,
  INT64,
  Int64Pipe,
  NotAllowedHint,
  type Page,
} from '#platform';
import { ListPetsQuery } from './dto/list-pets-query.dto.js';
import { NewPet } from './dto/new-pet.dto.js';
import { Pet } from './pet.entity.js';
import { PET_NOT_FOUND, petNotFound } from './pets.errors.js';
import { PetsService } from './pets.service.js';

const NO_CHANGES =
  'Animals cannot be changed or removed through this API. Ask the operator of the service.';

@Controller({ path: 'pets', version: '1' })
export class PetsController {
  constructor(private readonly pets: PetsService) {}

  @Get()
  @NotAllowedHint(NO_CHANGES)
  @ApiOperation({
    operationId: 'listPets',
    summary: 'List animals',
    description: 'Returns a page of animals in ascending order of id.',
  })
  @ApiPage(Pet, 'A page of animals.')
  @ApiErrors('invalid_cursor')
  listPets(@Query() query: ListPetsQuery): Promise<Page<Pet>> {
    return this.pets.list(query);
  }

  @Post()
  @ApiOperation({
    operationId: 'createPet',
    summary: 'Add an animal',
    description:
      'Returns the animal with the assigned id. Unknown properties are ignored. A name in another case, such as `Status`, gets 400.',
  })
  @ApiCreatedResponse({ type: Pet, description: 'The animal with its assigned id.' })
  createPet(
    @Body() pet: NewPet,
    @Caller() caller: Caller,
    @IdempotencyKey() idempotencyKey?: IdempotencyKey,
  ): Promise<Pet> {
    return this.pets.add(pet, caller, idempotencyKey);
  }

  @Get(':petId')
  @NotAllowedHint(NO_CHANGES)
  @Deprecated({
    since: new Date('2026-11-20T00:00:00Z'),
    sunset: new Date('2030-12-05T00:00:00Z'),
    successor: '/v1/pets',
    replacement: 'List animals with GET /v1/pets and its status filter instead.',
  })
  @ApiOperation({
    operationId: 'getPet',
    summary: 'Get an animal',
    description:
      'Deprecated since 20 November 2026 and removed on 5 December 2030. Use `GET /pets` with the `status` filter instead. The list has no filter by `id`, because the published interface gives it only `limit` and `status`. To find animals by `id`, keep a copy of the list and refresh it: a request reads up to 100 animals. The guide for client developers (docs/clients.md) shows how.',
  })
  @ApiParam({
    name: 'petId',
    schema: INT64,
    description: 'Identifies the animal. A value that is not an int64 gets 404.',
  })
  @ApiOkResponse({ type: Pet, description: 'The animal.' })
  @ApiErrors(PET_NOT_FOUND)
  getPet(@Param('petId', new Int64Pipe(petNotFound)) petId: bigint): Promise<Pet> {
    return this.pets.get(petId);
  }
}
