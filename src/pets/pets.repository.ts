import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { PipelinedRepository } from '#platform';
import type { NewPet } from './dto/new-pet.dto.js';
import { Pet, type PetStatus } from './pet.entity.js';

/**
 * Compares (status, id) instead of `status = $3`: for an equality, the planner may walk the primary key
 * and skip any number of animals with other statuses. A page is one range of the index of both columns.
 */
const OF_STATUS = `
  WHERE (status, id) > ($3, $1) AND (status, id) <= ($3, 9223372036854775807)
  ORDER BY status, id LIMIT $2`;

/** The animals in PostgreSQL. */
@Injectable()
export class PetsRepository {
  constructor(@InjectRepository(Pet) private readonly pets: PipelinedRepository<Pet>) {}

  /** Returns up to `limit` animals with a greater id than `afterId`, in ascending order. */
  list(afterId: bigint, limit: number, status?: PetStatus): Promise<Pet[]> {
    return status === undefined
      ? this.pets.selectRows('WHERE id > $1 ORDER BY id LIMIT $2', [afterId, limit])
      : this.pets.selectRows(OF_STATUS, [afterId, limit, status]);
  }

  async findById(id: bigint): Promise<Pet | null> {
    const [pet] = await this.pets.selectRows('WHERE id = $1', [id]);
    return pet ?? null;
  }

  /** Adds an animal with an API key. */
  insert(pet: NewPet, keyId: bigint): Promise<Pet> {
    return this.pets.insertRow(Object.assign({}, pet, { createdByKeyId: keyId }));
  }
}
