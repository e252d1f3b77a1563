import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { categoryNameTaken } from './categories.errors.js';
import { Category } from './category.entity.js';
import type { NewCategory } from './dto/new-category.dto.js';

/** The categories in PostgreSQL. */
@Injectable()
export class CategoriesRepository {
  constructor(@InjectRepository(Category) private readonly categories: Repository<Category>) {}

  /** Returns up to `limit` categories after a name, in ascending order of name. */
  list(afterName: string, limit: number): Promise<Category[]> {
    // A page is one range of the unique index.
    return this.categories
      .createQueryBuilder('category')
      .where('lower(category.name) > lower(:afterName)', { afterName })
      .orderBy('lower(category.name)')
      .limit(limit)
      .getMany();
  }

  findById(id: bigint): Promise<Category | null> {
    return this.categories.findOneBy({ id });
  }

  /** Returns a category that nobody else changes or deletes until the transaction ends. */
  lockById(id: bigint): Promise<Category | null> {
    return this.categories.findOne({ where: { id }, lock: { mode: 'pessimistic_write' } });
  }

  /** @throws ServiceError conflict if another category has the name */
  async insert({ name, description = null }: NewCategory): Promise<Category> {
    const { id } = await rejectTakenName(this.categories.save({ name, description }));
    return this.categories.create({ id, name, description });
  }

  /** @throws ServiceError conflict if another category has the name */
  save(category: Category): Promise<Category> {
    return rejectTakenName(this.categories.save(category));
  }

  async delete(category: Category): Promise<void> {
    await this.categories.delete({ id: category.id });
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
