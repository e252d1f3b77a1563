import type { Omitted } from '../../database/copy/copy-tables.js';
import { queryRows, type StatementRunner } from '../../database/sql.js';

/** Marks in the audit trail that the demo data was added. It belongs to the names that never change. */
export const DEMO_ACTION = 'demo data added';

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
  const [demo] = await queryRows<Omitted>(database, FIND_DEMO, [DEMO_ACTION]);
  return demo as Omitted;
}
