import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Any, Between, ILike, In, LessThan } from 'typeorm';
import { findViolatedReference, PipelinedRepository, withShortLocks } from '#platform';
import type { NewPet } from './dto/new-pet.dto.js';
import { Pet, PET_STATUSES, type PetStatus } from './pet.entity.js';

/**
 * Compares (status, id) instead of `status = $3`: for an equality, the planner may walk the primary key
 * and skip any number of animals with other statuses. A page is one range of the index of both columns.
 */
const OF_STATUS = `
  WHERE (status, id) > ($3, $1) AND (status, id) <= ($3, 9223372036854775807)
  ORDER BY status, id LIMIT $2`;

/** Conditions on the properties of animals. An omitted condition selects all. */
export interface Filter {
  status?: PetStatus | undefined;
  category?: bigint | undefined;
  /** A part of the name, in any case. */
  name?: string | undefined;
}

/** Selects animals. An omitted condition selects all. */
export interface Selection extends Filter {
  ids?: readonly bigint[];
  /** Only animals that the list has after this one. */
  after?: bigint;
  limit?: number;
}

/** All animals from one id to another. */
export interface Range {
  from: bigint;
  to: bigint;
}

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

  /**
   * Returns animals for an operator, the newest first, with the time, the API key and the owner that added
   * them, or the operator who imported them.
   */
  async search({ ids, after, limit, ...filter }: Selection) {
    const query = this.pets
      .createQueryBuilder('pet')
      .addSelect(['pet.createdAt', 'pet.createdByKeyId'])
      .leftJoin('ApiKey', 'key', 'key.id = pet.createdByKeyId')
      .leftJoin('Owner', 'owner', 'owner.id = key.ownerId')
      .addSelect('owner.name', 'owner')
      // Both times are that of the transaction of the import.
      .leftJoin(
        'OperatorAction',
        'import',
        `import.action = 'animals import' AND import.performedAt = pet.createdAt AND pet.createdByKeyId IS NULL`,
      )
      .addSelect('import.actor', 'importedBy')
      .where({
        ...(ids && { id: In(ids) }),
        ...conditionsOf(filter),
        ...(after !== undefined && { id: LessThan(after) }),
      })
      .orderBy('pet.id', 'DESC')
      .limit(limit);
    type Raw = Record<'owner' | 'importedBy', string | null>;
    const { entities, raw } = await query.getRawAndEntities<Raw>();
    return entities.map(({ createdAt, createdByKeyId, ...pet }, index) => {
      const { owner = null, importedBy = null } = raw[index] ?? {};
      return { ...pet, addedAt: createdAt, keyId: createdByKeyId, owner, importedBy };
    });
  }

  /** Returns the number of animals by status, and in total. */
  async count() {
    const rows = await this.pets
      .createQueryBuilder('pet')
      .select('pet.status', 'status')
      .addSelect('count(*)', 'count')
      .groupBy('pet.status')
      .getRawMany<{ status: PetStatus; count: bigint }>();
    const countOf = (status: PetStatus) => rows.find((row) => row.status === status)?.count ?? 0n;
    const counts = PET_STATUSES.map((status) => [status, countOf(status)] as const);
    const total = rows.reduce((sum, { count }) => sum + count, 0n);
    return { ...Object.fromEntries(counts), total };
  }

  /** Returns the first ids of the animals of a filter in a range, in ascending order. */
  async idsOf(filter: Filter, { from, to }: Range, limit: number): Promise<bigint[]> {
    const animals = await this.pets.find({
      select: { id: true },
      where: { ...conditionsOf(filter), id: Between(from, to) },
      order: { id: 'ASC' },
      take: limit,
    });
    return animals.map(({ id }) => id);
  }

  /** Locks animals in the open transaction. @throws Error if another one locks one of them */
  async lock(ids: readonly bigint[]): Promise<void> {
    const locked = { where: { id: In(ids) }, order: { id: 'ASC' } } as const;
    await withShortLocks(this.pets.manager, () =>
      this.pets.find({ ...locked, lock: { mode: 'pessimistic_write' } }),
    );
  }

  async update(ids: readonly bigint[], changes: Partial<NewPet>): Promise<void> {
    await this.pets.update({ id: In(ids) }, changes);
  }

  /**
   * Removes those of the animals that match the filter, and returns how many.
   *
   * @throws Error if another transaction locks an animal, or if a row of another table, which the message
   *   names, refers to one
   */
  async delete(ids: readonly bigint[], filter: Filter): Promise<number> {
    // Any() sends all ids as one parameter, In() one for each id.
    const where = { ...conditionsOf(filter), id: Any(ids) };
    try {
      const { affected } = await withShortLocks(this.pets.manager, () => this.pets.delete(where));
      return affected ?? 0;
    } catch (cause) {
      const { table, key = '' } = findViolatedReference(cause) ?? {};
      if (table === undefined) throw cause;
      const animal = `the animal ${key}`.trim();
      throw new Error(`The table ${table} refers to ${animal}. Nothing was removed.`, { cause });
    }
  }
}

function conditionsOf({ status, category, name }: Filter) {
  return {
    ...(status && { status }),
    ...(category !== undefined && { categoryId: category }),
    ...(name !== undefined && { name: ILike(`%${name.replace(/[\\%_]/g, '\\$&')}%`) }),
  };
}
