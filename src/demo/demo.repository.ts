import type { EntityManager } from 'typeorm';
import { OperatorAction } from '../platform/access/administration/operator-action.entity.js';
import { recordAction } from '../platform/access/administration/operator-actions.repository.js';
import { DEMO_ACTION } from '../platform/access/administration/demo-owner.js';
import { queryRows } from '../platform/database/sql.js';

const INSERT_ANIMALS = `
  INSERT INTO pets (name, category_id, status)
  VALUES ('Frank', 1, 'available'), ('Luna', 2, 'available'), ('Biscuit', 1, 'pending'),
         ('Kiwi', 3, 'available'), ('Clementine', 2, 'sold'), ('Hopper', 4, 'pending')`;

/** Adds animals and marks the database. Returns false, and adds none, if it was already marked. */
export async function addDemoAnimals(transaction: EntityManager): Promise<boolean> {
  if (await transaction.existsBy(OperatorAction, { action: DEMO_ACTION })) return false;
  await recordAction(transaction, DEMO_ACTION, {});
  await queryRows(transaction, INSERT_ANIMALS);
  return true;
}
