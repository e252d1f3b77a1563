import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import { PooledStatements } from '../database/pipelining/pooled-statements.js';
import { Standbys } from '../database/standbys/standbys.js';
import type { NewPet } from './dto/new-pet.dto.js';
import { Pet, type PublicPet } from './pet.entity.js';
import type { PetStatus } from './pet-status.js';

/** The allow-list of what leaves the store. */
const COLUMNS = 'id, name, category_id AS "categoryId", status';

type Columns = [id: bigint, name: string, categoryId: bigint, status: PetStatus];

const toPet = ([id, name, categoryId, status]: Columns): PublicPet => ({
  id,
  name,
  categoryId,
  status,
});

const list = (columns: string): string =>
  `SELECT ${columns} FROM pets WHERE id > $1 ORDER BY id LIMIT $2`;

/**
 * A range of (status, id) rather than `status = $3`: an equality would let the planner walk the
 * primary key and skip the animals of other statuses, any number of them. This one can only be read
 * off the index of both columns, where a page is one run of rows.
 */
const listByStatus = (columns: string): string => `
  SELECT ${columns} FROM pets
   WHERE (status, id) > ($3, $1) AND (status, id) <= ($3, 9223372036854775807)
   ORDER BY status, id LIMIT $2`;

const LIST = list(COLUMNS);
const LIST_BY_STATUS = listByStatus(COLUMNS);

/** Whether no animal with a smaller id can be missing on the standby that says so (docs/decisions/0008). */
const settled = (before: string, serverStartedAt: string): string =>
  `${COLUMNS}, created_at < ${before}::timestamptz
     AND pg_postmaster_start_time() = ${serverStartedAt}::timestamptz AS "isSettled"`;

const LIST_SETTLED = list(settled('$3', '$4'));
const LIST_SETTLED_BY_STATUS = listByStatus(settled('$4', '$5'));

const FIND = `SELECT ${COLUMNS} FROM pets WHERE id = $1`;

const INSERT = `
  INSERT INTO pets (name, category_id, status, created_by_key_id)
  VALUES ($1, $2, $3, $4) RETURNING ${COLUMNS}`;

/** The last column is null when the standby does not know up to when it has followed the primary. */
const toSettledPet = ([id, name, categoryId, status, isSettled]: [...Columns, boolean | null]) => ({
  pet: { id, name, categoryId, status },
  isSettled,
});

/** The animals in PostgreSQL, one statement an operation; two where a standby is not to be believed. */
@Injectable()
export class PetsRepository {
  constructor(
    @InjectRepository(Pet) private readonly pets: Repository<Pet>,
    private readonly statements: PooledStatements,
    private readonly standbys: Standbys,
  ) {}

  /** Returns up to `limit` animals with a greater id than `afterId`, in ascending order. */
  list(afterId: bigint, limit: number, status?: PetStatus): Promise<PublicPet[]> {
    const [sql, onStandby, page] =
      status === undefined
        ? [LIST, LIST_SETTLED, [afterId, limit]]
        : [LIST_BY_STATUS, LIST_SETTLED_BY_STATUS, [afterId, limit, status]];
    return this.standbys.read(
      async (standby) => {
        const { settledBefore, serverStartedAt } = standby.replay;
        const values = [...page, settledBefore, serverStartedAt];
        const rows = await standby.query(onStandby, values, toSettledPet);
        const isConclusive = rows.length === limit && rows.at(-1)?.isSettled === true;
        return isConclusive ? rows.map(({ pet }) => pet) : null;
      },
      () => this.statements.read(sql, page, toPet),
    );
  }

  async findById(id: bigint): Promise<PublicPet | null> {
    const [pet] = await this.standbys.read(
      async (standby) => {
        const rows = await standby.query(FIND, [id], toPet);
        // An animal never changes: where there is one, the primary could say nothing else.
        return rows.length > 0 ? rows : null;
      },
      () => this.statements.read(FIND, [id], toPet),
    );
    return pet ?? null;
  }

  /**
   * @param keyId the key that the animal is added with
   * @param transaction where the animal is to be part of one
   */
  async insert(
    { name, categoryId, status }: NewPet,
    keyId: bigint,
    transaction?: EntityManager,
  ): Promise<PublicPet> {
    const values = [name, categoryId, status, keyId];
    const rows = transaction
      ? transaction.withRepository(this.pets).query<PublicPet[]>(INSERT, values)
      : this.statements.insert(INSERT, values, toPet);
    const [pet] = (await rows) as [PublicPet];
    return pet;
  }
}
