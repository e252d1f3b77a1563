import type { EntityManager } from 'typeorm';
import type { SampleAnimal } from './sample-animals.js';

const ACTION = 'demo data added';

const MARK_ADDED = `
  INSERT INTO operator_actions (actor, action, details)
  SELECT $1, $2, '{}' WHERE NOT EXISTS (SELECT FROM operator_actions WHERE action = $2)
  RETURNING id`;

const INSERT_ANIMALS = `
  INSERT INTO pets (name, category_id, status)
  SELECT name, category_id, status
    FROM unnest($1::text[], $2::bigint[], $3::text[])
           WITH ORDINALITY AS animal (name, category_id, status, position)
   ORDER BY position`;

/** The statements of the demo. */
export class DemoRepository {
  /** @param manager of a transaction */
  constructor(private readonly manager: EntityManager) {}

  /** Marks the database as having the demo data. Returns false if it was already marked. */
  async markAdded(actor: string): Promise<boolean> {
    const marked = await this.manager.query<unknown[]>(MARK_ADDED, [actor, ACTION]);
    return marked.length > 0;
  }

  async insertAnimals(animals: readonly SampleAnimal[]): Promise<void> {
    await this.manager.query(INSERT_ANIMALS, [
      animals.map(({ name }) => name),
      animals.map(({ categoryId }) => categoryId),
      animals.map(({ status }) => status),
    ]);
  }
}
