import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type IfMatch, type Page, PageCursor, type PageQuery, ServiceError } from '#platform';
import { categoryNotFound, IF_MATCH_REQUIRED } from './categories.errors.js';
import { CategoriesRepository } from './categories.repository.js';
import type { Category } from './category.entity.js';
import type { CategoryChanges } from './dto/category-changes.dto.js';
import type { NewCategory } from './dto/new-category.dto.js';

/** The name alone identifies a category. */
const BY_NAME = new PageCursor('text');

/** The operations on categories. */
@Injectable()
export class CategoriesService {
  constructor(
    private readonly categories: CategoriesRepository,
    private readonly dataSource: DataSource,
  ) {}

  /** Returns a page in ascending order of name. @throws ServiceError invalid_cursor */
  async list(query: PageQuery): Promise<Page<Category>> {
    const [afterName] = BY_NAME.positionOf(query) ?? [''];
    // One row more than the page holds shows whether another page follows.
    const categories = await this.categories.list(afterName, query.limit + 1);
    return BY_NAME.page(categories, query, ({ name }) => [name]);
  }

  /** @throws ServiceError conflict if another category has the name */
  add(category: NewCategory): Promise<Category> {
    return this.categories.insert(category);
  }

  /** @throws ServiceError not_found */
  async get(id: bigint): Promise<Category> {
    const category = await this.categories.findById(id);
    if (!category) throw categoryNotFound();
    return category;
  }

  /**
   * Replaces a category that nobody has changed since the caller got it.
   *
   * @throws ServiceError precondition_required, precondition_failed, not_found, or conflict if another
   *   category has the name
   */
  async replace(
    id: bigint,
    { name, description = null }: NewCategory,
    ifMatch?: IfMatch,
  ): Promise<Category> {
    if (!ifMatch) throw new ServiceError(IF_MATCH_REQUIRED);
    return this.change(id, { name, description }, ifMatch);
  }

  /**
   * Changes the given properties.
   *
   * @throws ServiceError precondition_failed, not_found, or conflict if another category has the name
   */
  change(id: bigint, changes: CategoryChanges, ifMatch?: IfMatch): Promise<Category> {
    return this.dataSource.transaction(async () => {
      const category = await this.lock(id, ifMatch);
      return this.categories.save(Object.assign(category, changes));
    });
  }

  /** @throws ServiceError precondition_failed or not_found */
  remove(id: bigint, ifMatch?: IfMatch): Promise<void> {
    return this.dataSource.transaction(async () => {
      await this.categories.delete(await this.lock(id, ifMatch));
    });
  }

  /** Locks a category, and then compares it: of two callers with the same ETag, one succeeds. */
  private async lock(id: bigint, ifMatch?: IfMatch): Promise<Category> {
    const category = await this.categories.lockById(id);
    if (!category) throw categoryNotFound();
    ifMatch?.check(category);
    return category;
  }
}
