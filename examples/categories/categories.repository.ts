import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { categoryNameTaken } from './categories.errors.js';
import { Category, type PublicCategory } from './category.entity.js';
import type { CategoryChanges } from './dto/category-changes.dto.js';
import type { NewCategory } from './dto/new-category.dto.js';

/** The properties that callers may see. */
const PUBLIC = { id: true, name: true, description: true } as const;

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

  findById(id: bigint): Promise<PublicCategory | null> {
    return this.categories.findOne({ where: { id }, select: PUBLIC });
  }

  /** @throws ServiceError conflict if another category has the name */
  async insert({ name, description = null }: NewCategory): Promise<PublicCategory> {
    const { id } = await rejectTakenName(this.categories.save({ name, description }));
    return { id, name, description };
  }

  /**
   * Changes the given properties. Returns null if there is no such category.
   *
   * @throws ServiceError conflict if another category has the name
   */
  async update(id: bigint, changes: CategoryChanges): Promise<PublicCategory | null> {
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
