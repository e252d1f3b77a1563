import type { EntityManager } from 'typeorm';
import { queryRows } from '../database/sql.js';

const ACTION = 'demo data added';

const MARK_ADDED = `
  INSERT INTO operator_actions (actor, action, details)
  SELECT $1, $2, '{}' WHERE NOT EXISTS (SELECT FROM operator_actions WHERE action = $2)
  RETURNING id`;

const INSERT_ANIMALS = `
  INSERT INTO pets (name, category_id, status)
  VALUES ('Frank', 1, 'available'), ('Luna', 2, 'available'), ('Biscuit', 1, 'pending'),
         ('Kiwi', 3, 'available'), ('Clementine', 2, 'sold'), ('Hopper', 4, 'pending')`;

/** The statements of the demo. */
export class DemoRepository {
  /** @param manager of a transaction */
  constructor(private readonly manager: EntityManager) {}

  /** Marks the database as having the demo data. Returns false if it was already marked. */
  async markAdded(actor: string): Promise<boolean> {
    const marked = await queryRows(this.manager, MARK_ADDED, [actor, ACTION]);
    return marked.length > 0;
  }

  async insertAnimals(): Promise<void> {
    await queryRows(this.manager, INSERT_ANIMALS);
  }
}
