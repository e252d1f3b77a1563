import type { EntityManager } from 'typeorm';
import { OperatorAction } from '../platform/access/administration/operator-action.entity.js';
import { recordAction } from '../platform/access/administration/operator-actions.repository.js';
import { DEMO_ACTION, type DemoRecord } from '../platform/access/administration/demo-owner.js';
import { Pet } from '../pets/pet.entity.js';
import { SAMPLE_ANIMALS } from '../pets/sample-animals.js';

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
  await transaction.insert(Pet, SAMPLE_ANIMALS);
}
