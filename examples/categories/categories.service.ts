import { Injectable } from '@nestjs/common';
import { type Page, PageCursor, type PageQuery, ServiceError } from '#platform';
import { categoryNotFound, VERSION_CHANGED, VERSION_REQUIRED } from './categories.errors.js';
import { CategoriesRepository } from './categories.repository.js';
import type { PublicCategory, VersionedCategory } from './category.entity.js';
import type { CategoryChanges } from './dto/category-changes.dto.js';
import type { NewCategory } from './dto/new-category.dto.js';
import { versionsIn } from './version-tag.interceptor.js';

/** The name alone identifies a category. */
const BY_NAME = new PageCursor('text');

/** The operations on categories. */
@Injectable()
export class CategoriesService {
  constructor(private readonly categories: CategoriesRepository) {}

  /** Returns a page in ascending order of name. @throws ServiceError invalid_cursor */
  async list(query: PageQuery): Promise<Page<PublicCategory>> {
    const [afterName] = BY_NAME.positionOf(query) ?? [''];
    // One row more than the page holds shows whether another page follows.
    const categories = await this.categories.list(afterName, query.limit + 1);
    return BY_NAME.page(categories, query, ({ name }) => [name]);
  }

  /** @throws ServiceError conflict if another category has the name */
  add(category: NewCategory): Promise<VersionedCategory> {
    return this.categories.insert(category);
  }

  /** @throws ServiceError not_found */
  async get(id: bigint): Promise<VersionedCategory> {
    const category = await this.categories.findById(id);
    if (!category) throw categoryNotFound();
    return category;
  }

  /**
   * Replaces a category that nobody has changed since the caller got it.
   *
   * @param ifMatch the header `If-Match`
   * @throws ServiceError precondition_required, precondition_failed, not_found, or conflict if another
   *   category has the name
   */
  async replace(id: bigint, category: NewCategory, ifMatch?: string): Promise<VersionedCategory> {
    if (ifMatch === undefined) throw new ServiceError(VERSION_REQUIRED);
    const isReplaced = await this.categories.replace(id, category, versionsIn(ifMatch));
    const current = await this.get(id);
    if (!isReplaced) throw new ServiceError(VERSION_CHANGED);
    return current;
  }

  /** @throws ServiceError not_found, or conflict if another category has the name */
  async change(id: bigint, changes: CategoryChanges): Promise<VersionedCategory> {
    const category = await this.categories.update(id, changes);
    if (!category) throw categoryNotFound();
    return category;
  }

  /** @throws ServiceError not_found */
  async remove(id: bigint): Promise<void> {
    if (!(await this.categories.delete(id))) throw categoryNotFound();
  }
}
