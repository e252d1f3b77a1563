import { Injectable } from '@nestjs/common';
import { ServiceError } from '../errors/service-error.js';
import { Page } from '../http/page.js';
import type { ListPetsQuery } from './dto/list-pets-query.dto.js';
import type { NewPet } from './dto/new-pet.dto.js';
import type { PublicPet } from './pet.entity.js';
import { petCursor, readPetCursor } from './pet-cursor.js';
import { PetsRepository } from './pets.repository.js';

/** What can be done with the store's animals. */
@Injectable()
export class PetsService {
  constructor(private readonly pets: PetsRepository) {}

  /** Returns a page of animals in ascending order of id. @throws ServiceError invalid_cursor */
  async list({ limit, status, cursor }: ListPetsQuery): Promise<Page<PublicPet>> {
    const afterId = cursor === undefined ? 0n : readPetCursor(cursor, status);
    // One more than asked for tells whether a page follows.
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

  /** Adds an animal. @param keyId the caller's key */
  add(pet: NewPet, keyId: bigint): Promise<PublicPet> {
    return this.pets.insert(pet, keyId);
  }

  /** @throws ServiceError pet_not_found */
  async get(id: bigint): Promise<PublicPet> {
    const pet = await this.pets.findById(id);
    if (!pet) throw petNotFound();
    return pet;
  }
}

export function petNotFound(): ServiceError {
  return new ServiceError('pet_not_found', 'No animal has this identifier.');
}
