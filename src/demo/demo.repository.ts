import type { EntityManager } from 'typeorm';
import { currentOperator } from '../platform/access/administration/operator.js';
import { queryRows } from '../platform/database/sql.js';

const ACTION = 'demo data added';

const MARK_ADDED = `
  INSERT INTO operator_actions (actor, action, details)
  SELECT $1, $2, '{}' WHERE NOT EXISTS (SELECT FROM operator_actions WHERE action = $2)
  RETURNING id`;

const INSERT_ANIMALS = `
  INSERT INTO pets (name, category_id, status)
  VALUES ('Frank', 1, 'available'), ('Luna', 2, 'available'), ('Biscuit', 1, 'pending'),
         ('Kiwi', 3, 'available'), ('Clementine', 2, 'sold'), ('Hopper', 4, 'pending')`;

/** Adds animals and marks the database. Returns false, and adds none, if it was already marked. */
export async function addDemoAnimals(transaction: EntityManager): Promise<boolean> {
  const marked = await queryRows(transaction, MARK_ADDED, [currentOperator(), ACTION]);
  if (marked.length === 0) return false;
  await queryRows(transaction, INSERT_ANIMALS);
  return true;
}
