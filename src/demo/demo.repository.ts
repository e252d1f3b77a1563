import type { EntityManager } from 'typeorm';
import { OperatorAction } from '../platform/access/administration/operator-action.entity.js';
import { recordAction } from '../platform/access/administration/operator-actions.repository.js';
import type { Omitted } from '../platform/database/copy/copy-tables.js';
import { queryRows, type StatementRunner } from '../platform/database/sql.js';

const ACTION = 'demo data added';

const INSERT_ANIMALS = `
  INSERT INTO pets (name, category_id, status)
  VALUES ('Frank', 1, 'available'), ('Luna', 2, 'available'), ('Biscuit', 1, 'pending'),
         ('Kiwi', 3, 'available'), ('Clementine', 2, 'sold'), ('Hopper', 4, 'pending')`;

/** Adds animals and marks the database. Returns false, and adds none, if it was already marked. */
export async function addDemoAnimals(transaction: EntityManager): Promise<boolean> {
  if (await transaction.existsBy(OperatorAction, { action: ACTION })) return false;
  await recordAction(transaction, ACTION, {});
  await queryRows(transaction, INSERT_ANIMALS);
  return true;
}

const FIND_DEMO = `
  SELECT coalesce(json_agg(DISTINCT key.owner_id) FILTER (WHERE is_new), '[]') AS owners,
         coalesce(json_agg(key.id), '[]') AS api_keys
    FROM (SELECT (issue.details ->> 'keyId')::bigint, (issue.details ->> 'isNewOwner')::boolean
            FROM operator_actions AS mark JOIN operator_actions AS issue USING (performed_at)
           WHERE mark.action = $1 AND issue.action = 'keys issue') AS demo (key_id, is_new)
    JOIN api_keys AS first ON first.id = key_id
    JOIN api_keys AS key ON key_id IN (key.id, key.first_key_id)
      OR is_new AND key.owner_id = first.owner_id`;

/** Returns the demo owner, unless operators had created it, and the API keys that came from it. */
export async function findDemo(database: StatementRunner): Promise<Omitted> {
  const [demo] = await queryRows<Omitted>(database, FIND_DEMO, [ACTION]);
  return demo as Omitted;
}
