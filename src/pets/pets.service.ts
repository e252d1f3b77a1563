import { Injectable } from '@nestjs/common';
import {
  type Caller,
  Idempotency,
  type IdempotencyKey,
  type Page,
  PageCursor,
  valuesOf,
} from '#platform';
import type { ListPetsQuery } from './dto/list-pets-query.dto.js';
import type { NewPet } from './dto/new-pet.dto.js';
import type { Pet } from './pet.entity.js';
import { petNotFound } from './pets.errors.js';
import { PetsRepository } from './pets.repository.js';

const BY_ID = new PageCursor('bigint');

/** The operations on animals. */
@Injectable()
export class PetsService {
  constructor(
    private readonly pets: PetsRepository,
    private readonly idempotency: Idempotency,
  ) {}

  /** Returns a page of animals in ascending order of id. @throws ServiceError invalid_cursor */
  async list(query: ListPetsQuery): Promise<Page<Pet>> {
    const [afterId] = BY_ID.positionOf(query) ?? [0n];
    // One row more than the page holds shows whether another page follows.
    const pets = await this.pets.list(afterId, query.limit + 1, query.status);
    return BY_ID.page(pets, query, ({ id }) => [id]);
  }

  /**
   * Adds an animal. Requests with the same idempotency key add it once.
   *
   * @throws ServiceError idempotency_key_reused or idempotency_key_in_progress
   */
  add(pet: NewPet, { keyId, ownerId }: Caller, key?: IdempotencyKey): Promise<Pet> {
    if (key === undefined) return this.pets.insert(pet, keyId);
    // An array, because the first release stored the fingerprint of one.
    const request = { ownerId, key, operation: 'createPet', content: valuesOf(pet) };
    return this.idempotency.once(request, () => this.pets.insert(pet, keyId));
  }

  /** @throws ServiceError pet_not_found */
  async get(id: bigint): Promise<Pet> {
    const pet = await this.pets.findById(id);
    if (!pet) throw petNotFound();
    return pet;
  }
}
