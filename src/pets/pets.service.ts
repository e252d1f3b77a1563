import { Injectable } from '@nestjs/common';
import type { CachedKey } from '../auth/cached-key.js';
import { Page, type SerializedJson } from '../http/response/handler-result.js';
import { Idempotency } from '../idempotency/idempotency.js';
import type { ListPetsQuery } from './dto/list-pets-query.dto.js';
import type { NewPet } from './dto/new-pet.dto.js';
import type { PublicPet } from './pet.entity.js';
import { parsePetCursor, petCursor } from './pet-cursor.js';
import { petNotFound } from './pets.errors.js';
import { PetsRepository } from './pets.repository.js';

/** The operations on animals. */
@Injectable()
export class PetsService {
  constructor(
    private readonly pets: PetsRepository,
    private readonly idempotency: Idempotency,
  ) {}

  /** Returns a page of animals in ascending order of id. @throws ServiceError invalid_cursor */
  async list({ limit, status, cursor }: ListPetsQuery): Promise<Page<PublicPet>> {
    const afterId = cursor === undefined ? 0n : parsePetCursor(cursor, status);
    // One row more than the page holds shows whether another page follows.
    const found = await this.pets.list(afterId, limit + 1, status);
    const pets = found.slice(0, limit);
    const last = pets.at(-1);
    if (found.length <= limit || !last) return new Page(pets);
    return new Page(pets, {
      limit: String(limit),
      ...(status && { status }),
      cursor: petCursor(last.id, status),
    });
  }

  /**
   * Adds an animal. Requests with the same idempotency key add it once.
   *
   * @param key the caller's API key
   * @throws ServiceError idempotency_key_reused or idempotency_key_in_progress
   */
  add(pet: NewPet, key: CachedKey, idempotencyKey?: string): Promise<PublicPet | SerializedJson> {
    if (idempotencyKey === undefined) return this.pets.insert(pet, key.id);
    const content = ['createPet', pet.name, pet.categoryId, pet.status];
    return this.idempotency.once(
      { ownerId: key.ownerId, key: idempotencyKey, content },
      (transaction) => this.pets.insert(pet, key.id, transaction),
    );
  }

  /** @throws ServiceError pet_not_found */
  async get(id: bigint): Promise<PublicPet> {
    const pet = await this.pets.findById(id);
    if (!pet) throw petNotFound();
    return pet;
  }
}
