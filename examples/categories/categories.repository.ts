import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, Repository } from 'typeorm';
import { categoryNameTaken } from './categories.errors.js';
import { Category, type PublicCategory, type VersionedCategory } from './category.entity.js';
import type { CategoryChanges } from './dto/category-changes.dto.js';
import type { NewCategory } from './dto/new-category.dto.js';

/** The properties that callers may see, and the version. */
const VERSIONED = { id: true, name: true, description: true, version: true } as const;

/** The categories in PostgreSQL. */
@Injectable()
export class CategoriesRepository {
  constructor(@InjectRepository(Category) private readonly categories: Repository<Category>) {}

  /** Returns up to `limit` categories after a name, in ascending order of name. */
  list(afterName: string, limit: number): Promise<PublicCategory[]> {
    // A page is one range of the unique index.
    return this.categories
      .createQueryBuilder('category')
      .select(['category.id', 'category.name', 'category.description'])
      .where('lower(category.name) > lower(:afterName)', { afterName })
      .orderBy('lower(category.name)')
      .limit(limit)
      .getMany();
  }

  findById(id: bigint): Promise<VersionedCategory | null> {
    return this.categories.findOne({ where: { id }, select: VERSIONED });
  }

  /** @throws ServiceError conflict if another category has the name */
  async insert({ name, description = null }: NewCategory): Promise<VersionedCategory> {
    const { id, version } = await rejectTakenName(this.categories.save({ name, description }));
    return { id, name, description, version };
  }

  /**
   * Replaces a category that has one of the versions. Returns whether there was such a category.
   *
   * @param versions undefined for any version
   * @throws ServiceError conflict if another category has the name
   */
  async replace(id: bigint, category: NewCategory, versions?: number[]): Promise<boolean> {
    const { name, description = null } = category;
    // One statement compares the version and changes the row, so of two callers one succeeds.
    const where = versions ? { id, version: In(versions) } : { id };
    const change = this.categories.update(where, { name, description });
    return (await rejectTakenName(change)).affected === 1;
  }

  /**
   * Changes the given properties. Returns null if there is no such category.
   *
   * @throws ServiceError conflict if another category has the name
   */
  async update(id: bigint, changes: CategoryChanges): Promise<VersionedCategory | null> {
    // TypeORM rejects an update without a change.
    const isChange = Object.values(changes).some((value) => value !== undefined);
    if (isChange) await rejectTakenName(this.categories.update({ id }, changes));
    return this.findById(id);
  }

  /** Returns whether there was such a category. */
  async delete(id: bigint): Promise<boolean> {
    return (await this.categories.delete({ id })).affected === 1;
  }
}

async function rejectTakenName<Result>(change: Promise<Result>): Promise<Result> {
  try {
    return await change;
  } catch (error) {
    const { constraint } = error as { constraint?: string };
    throw constraint === 'categories_name_key' ? categoryNameTaken() : error;
  }
}
