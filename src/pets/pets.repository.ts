import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import type { NewPet } from './dto/new-pet.dto.js';
import { Pet, type PublicPet } from './pet.entity.js';
import type { PetStatus } from './pet-status.js';

/** The allow-list of what leaves the store. */
const COLUMNS = 'id, name, category_id AS "categoryId", status';

const LIST = `SELECT ${COLUMNS} FROM pets WHERE id > $1 ORDER BY id LIMIT $2`;

/**
 * A range of (status, id) rather than `status = $1`: an equality would let the planner walk the
 * primary key and skip the animals of other statuses, any number of them. This one can only be read
 * off the index of both columns, where a page is one run of rows.
 */
const LIST_BY_STATUS = `
  SELECT ${COLUMNS} FROM pets
   WHERE (status, id) > ($3, $1) AND (status, id) <= ($3, 9223372036854775807)
   ORDER BY status, id LIMIT $2`;

const FIND = `SELECT ${COLUMNS} FROM pets WHERE id = $1`;

const INSERT = `
  INSERT INTO pets (name, category_id, status, created_by_key_id)
  VALUES ($1, $2, $3, $4) RETURNING ${COLUMNS}`;

/** The animals in PostgreSQL, one statement an operation. */
@Injectable()
export class PetsRepository {
  constructor(@InjectRepository(Pet) private readonly pets: Repository<Pet>) {}

  /** Returns up to `limit` animals with a greater id than `afterId`, in ascending order. */
  list(afterId: bigint, limit: number, status?: PetStatus): Promise<PublicPet[]> {
    return status === undefined
      ? this.pets.query<PublicPet[]>(LIST, [afterId, limit])
      : this.pets.query<PublicPet[]>(LIST_BY_STATUS, [afterId, limit, status]);
  }

  async findById(id: bigint): Promise<PublicPet | null> {
    const [pet] = await this.pets.query<PublicPet[]>(FIND, [id]);
    return pet ?? null;
  }

  /**
   * @param keyId the key that the animal is added with
   * @param transaction where the animal is to be part of one
   */
  async insert(
    { name, categoryId, status }: NewPet,
    keyId: bigint,
    transaction: EntityManager = this.pets.manager,
  ): Promise<PublicPet> {
    const [pet] = await transaction.query<[PublicPet]>(INSERT, [name, categoryId, status, keyId]);
    return pet;
  }
}
