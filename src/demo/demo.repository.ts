import type { EntityManager } from 'typeorm';
import { OperatorAction } from '../platform/access/administration/operator-action.entity.js';
import { recordAction } from '../platform/access/administration/operator-actions.repository.js';
import { DEMO_ACTION, type DemoRecord } from '../platform/access/administration/demo-owner.js';
import { queryRows } from '../platform/database/sql.js';

const INSERT_ANIMALS = `
  INSERT INTO pets (name, category_id, status)
  VALUES ('Frank', 1, 'available'), ('Luna', 2, 'available'), ('Biscuit', 1, 'pending'),
         ('Kiwi', 3, 'available'), ('Clementine', 2, 'sold'), ('Hopper', 4, 'pending')`;

/** Whether the database was marked. */
export function hasDemo(transaction: EntityManager): Promise<boolean> {
  return transaction.existsBy(OperatorAction, { action: DEMO_ACTION });
}

/** Adds animals and marks the database. */
export async function addDemoAnimals(
  transaction: EntityManager,
  record: DemoRecord,
): Promise<void> {
  await recordAction(transaction, DEMO_ACTION, record);
  await queryRows(transaction, INSERT_ANIMALS);
}
