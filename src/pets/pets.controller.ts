import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { CallerKey } from '../platform/access/caller-key.decorator.js';
import type { CachedKey } from '../platform/access/cached-key.js';
import { Published } from '../platform/http/openapi/decorators/published.decorator.js';
import { Deprecated } from '../platform/http/routing/deprecation.js';
import { Int64Pipe } from '../platform/http/validation/int64.pipe.js';
import { IdempotencyKey } from '../platform/idempotency/idempotency-key.decorator.js';
import { ListPetsQuery } from './dto/list-pets-query.dto.js';
import { NewPet } from './dto/new-pet.dto.js';
import type { PublicPet } from './pet.entity.js';
import { petNotFound } from './pets.errors.js';
import { DescribeCreatePet, DescribeGetPet, DescribeListPets } from './pets.openapi.js';
import { PetsService } from './pets.service.js';

@Controller({ path: 'pets', version: '1' })
@Published()
export class PetsController {
  constructor(private readonly pets: PetsService) {}

  @Get()
  @DescribeListPets()
  listPets(@Query() query: ListPetsQuery): Promise<PublicPet[]> {
    return this.pets.list(query);
  }

  @Post()
  @DescribeCreatePet()
  createPet(
    @Body() pet: NewPet,
    @CallerKey() key: CachedKey,
    @IdempotencyKey() idempotencyKey?: string,
  ): Promise<PublicPet> {
    return this.pets.add(pet, key, idempotencyKey);
  }

  @Get(':petId')
  @Deprecated({
    since: new Date('2026-11-20T00:00:00Z'),
    sunset: new Date('2030-12-05T00:00:00Z'),
    successor: '/v1/pets',
    replacement: 'List animals with GET /v1/pets and its status filter instead.',
  })
  @DescribeGetPet()
  getPet(@Param('petId', new Int64Pipe(petNotFound)) petId: bigint): Promise<PublicPet> {
    return this.pets.get(petId);
  }
}
