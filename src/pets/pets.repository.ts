import { Injectable } from '@nestjs/common';
import { PipelinedStatements } from '#platform';
import type { NewPet } from './dto/new-pet.dto.js';
import type { PetStatus, PublicPet } from './pet.entity.js';

/** The columns that callers may see. */
const COLUMNS = 'id, name, category_id AS "categoryId", status';

const LIST = `SELECT ${COLUMNS} FROM pets WHERE id > $1 ORDER BY id LIMIT $2`;

/**
 * Compares (status, id) instead of `status = $3`. For an equality, the planner may walk the primary
 * key and skip any number of animals with other statuses. Only the index of both columns serves
 * this condition, and a page is one range of that index.
 */
const LIST_BY_STATUS = `
  SELECT ${COLUMNS} FROM pets
   WHERE (status, id) > ($3, $1) AND (status, id) <= ($3, 9223372036854775807)
   ORDER BY status, id LIMIT $2`;

const FIND = `SELECT ${COLUMNS} FROM pets WHERE id = $1`;

const INSERT = `
  INSERT INTO pets (name, category_id, status, created_by_key_id)
  VALUES ($1, $2, $3, $4) RETURNING ${COLUMNS}`;

type Columns = [id: bigint, name: string, categoryId: bigint, status: PetStatus];

function toPet([id, name, categoryId, status]: Columns): PublicPet {
  return { id, name, categoryId, status };
}

/** The animals in PostgreSQL. */
@Injectable()
export class PetsRepository {
  constructor(private readonly statements: PipelinedStatements) {}

  /** Returns up to `limit` animals with a greater id than `afterId`, in ascending order. */
  list(afterId: bigint, limit: number, status?: PetStatus): Promise<PublicPet[]> {
    return status === undefined
      ? this.statements.read(LIST, [afterId, limit], toPet)
      : this.statements.read(LIST_BY_STATUS, [afterId, limit, status], toPet);
  }

  async findById(id: bigint): Promise<PublicPet | null> {
    const [pet] = await this.statements.read(FIND, [id], toPet);
    return pet ?? null;
  }

  /** Adds an animal with an API key. */
  async insert({ name, categoryId, status }: NewPet, keyId: bigint): Promise<PublicPet> {
    const values = [name, categoryId, status, keyId];
    const rows = await this.statements.insert(INSERT, values, toPet);
    const [pet] = rows as [PublicPet];
    return pet;
  }
}
