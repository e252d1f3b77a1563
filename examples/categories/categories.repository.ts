import { Injectable } from '@nestjs/common';
import { EntityManager } from 'typeorm';
import { queryRows } from '#platform';
import { categoryNameTaken } from './categories.errors.js';
import type { PublicCategory } from './category.entity.js';
import type { CategoryChanges } from './dto/category-changes.dto.js';
import type { NewCategory } from './dto/new-category.dto.js';

/** The columns that callers may see. */
const COLUMNS = 'id, name, description';

/** A page is one range of the unique index. */
const LIST = `
  SELECT ${COLUMNS} FROM categories
   WHERE lower(name) > lower($1) ORDER BY lower(name) LIMIT $2`;

const FIND = `SELECT ${COLUMNS} FROM categories WHERE id = $1`;

const INSERT = `INSERT INTO categories (name, description) VALUES ($1, $2) RETURNING ${COLUMNS}`;

const UPDATE = `
  UPDATE categories
     SET name = coalesce($2, name), description = CASE WHEN $3 THEN $4 ELSE description END
   WHERE id = $1 RETURNING ${COLUMNS}`;

const DELETE = 'DELETE FROM categories WHERE id = $1 RETURNING id';

/** The categories in PostgreSQL. */
@Injectable()
export class CategoriesRepository {
  constructor(private readonly manager: EntityManager) {}

  /** Returns up to `limit` categories after a name, in ascending order of name. */
  list(afterName: string, limit: number): Promise<PublicCategory[]> {
    return queryRows<PublicCategory>(this.manager, LIST, [afterName, limit]);
  }

  async findById(id: bigint): Promise<PublicCategory | null> {
    const [category] = await queryRows<PublicCategory>(this.manager, FIND, [id]);
    return category ?? null;
  }

  /** @throws ServiceError conflict if another category has the name */
  async insert({ name, description }: NewCategory): Promise<PublicCategory> {
    const rows = await this.write(INSERT, [name, description]);
    const [category] = rows as [PublicCategory];
    return category;
  }

  /**
   * Changes the given properties. Returns null if there is no such category.
   *
   * @throws ServiceError conflict if another category has the name
   */
  async update(id: bigint, changes: CategoryChanges): Promise<PublicCategory | null> {
    const { name, description } = changes;
    const values = [id, name, description !== undefined, description];
    const [category] = await this.write(UPDATE, values);
    return category ?? null;
  }

  /** Returns whether there was such a category. */
  async delete(id: bigint): Promise<boolean> {
    return (await queryRows(this.manager, DELETE, [id])).length > 0;
  }

  private async write(sql: string, values: unknown[]): Promise<PublicCategory[]> {
    try {
      return await queryRows<PublicCategory>(this.manager, sql, values);
    } catch (error) {
      const { constraint } = error as { constraint?: string };
      throw constraint === 'categories_name_key' ? categoryNameTaken() : error;
    }
  }
}
