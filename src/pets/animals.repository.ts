import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, Repository } from 'typeorm';
import { findViolatedReference, queryRows } from '#platform';
import type { NewPet } from './dto/new-pet.dto.js';
import { Pet, PET_STATUSES, type PetStatus } from './pet.entity.js';

/** Selects animals. An omitted condition selects all. */
export interface Selection {
  ids?: readonly bigint[];
  status?: PetStatus;
  category?: bigint;
  limit?: number;
}

/** The statements of the commands. They join an open transaction. */
@Injectable()
export class AnimalsRepository {
  constructor(@InjectRepository(Pet) private readonly pets: Repository<Pet>) {}

  /** Returns animals, the newest first, with when, by which API key and by which owner they were added. */
  async list({ ids, status, category, limit }: Selection) {
    const query = this.pets
      .createQueryBuilder('pet')
      .addSelect(['pet.createdAt', 'pet.createdByKeyId'])
      .leftJoin('ApiKey', 'key', 'key.id = pet.createdByKeyId')
      .leftJoin('Owner', 'owner', 'owner.id = key.ownerId')
      .addSelect('owner.name', 'owner')
      .where({
        ...(ids && { id: In(ids) }),
        ...(status && { status }),
        ...(category !== undefined && { categoryId: category }),
      })
      .orderBy('pet.id', 'DESC')
      .limit(limit);
    const { entities, raw } = await query.getRawAndEntities<{ owner: string | null }>();
    return entities.map(({ createdAt, createdByKeyId, ...pet }, index) => {
      const owner = raw[index]?.owner ?? null;
      return { ...pet, addedAt: createdAt, keyId: createdByKeyId, owner };
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

  /** Locks animals in the open transaction. @throws Error if another one locks one of them */
  async lock(ids: readonly bigint[]): Promise<void> {
    // While it waits for one row, it keeps the locks of the rows before it, so the wait is short.
    await queryRows(this.pets, "SET LOCAL lock_timeout = '500ms'");
    const locked = { where: { id: In(ids) }, order: { id: 'ASC' } } as const;
    await this.pets
      .find({ ...locked, lock: { mode: 'pessimistic_write' } })
      .catch((cause: unknown) => {
        if ((cause as { code?: string }).code !== '55P03') throw cause;
        throw new Error('Another transaction changes one of these animals. Try again.', { cause });
      });
  }

  async update(ids: readonly bigint[], changes: Partial<NewPet>): Promise<void> {
    await this.pets.update({ id: In(ids) }, changes);
  }

  /** @throws Error that names the table if another one refers to an animal */
  async delete(ids: readonly bigint[]): Promise<void> {
    await this.pets.delete({ id: In(ids) }).catch((cause: unknown) => {
      const { table, key = '' } = findViolatedReference(cause) ?? {};
      if (table === undefined) throw cause;
      const animal = `the animal ${key}`.trim();
      throw new Error(`The table ${table} refers to ${animal}. Nothing was removed.`, { cause });
    });
  }
}
