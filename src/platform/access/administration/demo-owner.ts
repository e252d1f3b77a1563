import type { Omitted } from '../../database/copy/copy-tables.js';
import { queryRows, type StatementRunner } from '../../database/sql.js';

/** Marks in the audit trail that the demo data was added. It belongs to the names that never change. */
export const DEMO_ACTION = 'demo data added';

/** The API key of the demo owner, and whether the owner was created with it. */
export interface DemoRecord {
  readonly demoKeyId: bigint;
  readonly isNewOwner: boolean;
}

/** Earlier releases did not record the ids. They added both records in one transaction. */
const FIND_DEMO = `
  SELECT coalesce(json_agg(DISTINCT key.owner_id) FILTER (WHERE is_new), '[]') AS owners,
         coalesce(json_agg(key.id), '[]') AS api_keys
    FROM (SELECT coalesce(mark.details ->> 'demoKeyId', issue.details ->> 'keyId')::bigint,
                 coalesce(mark.details ->> 'isNewOwner', issue.details ->> 'isNewOwner')::boolean
            FROM operator_actions AS mark
            LEFT JOIN operator_actions AS issue
              ON issue.performed_at = mark.performed_at AND issue.action = 'keys issue'
             AND NOT mark.details ? 'demoKeyId'
           WHERE mark.action = $1) AS demo (key_id, is_new)
    JOIN api_keys AS first ON first.id = key_id
    JOIN api_keys AS key ON key_id IN (key.id, key.first_key_id)
      OR is_new AND key.owner_id = first.owner_id`;

/** Returns the demo owner, unless operators had created it, and the API keys that came from it. */
export async function findDemo(database: StatementRunner): Promise<Omitted> {
  const [demo] = await queryRows<Omitted>(database, FIND_DEMO, [DEMO_ACTION]);
  return demo as Omitted;
}
