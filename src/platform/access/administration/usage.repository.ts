import { DAY_MS } from '../../config/clock.js';
import { queryRows, type StatementRunner } from '../../database/sql.js';

const SUMS = 'sum(requests)::bigint AS requests, sum(rejections)::bigint AS rejections';
const IN_DAYS = `day >= 'epoch'::date + $1::int`;

const BY_DAY = `
  SELECT day, ${SUMS} FROM api_key_usage
   WHERE ${IN_DAYS} AND key_id = $2 GROUP BY day ORDER BY day DESC`;

const BY_KEY = `
  SELECT key.id, owner.name AS owner, key.access, key.note, ${SUMS} FROM api_key_usage
    JOIN api_keys AS key ON key.id = key_id
    JOIN owners AS owner ON owner.id = key.owner_id
   WHERE ${IN_DAYS} AND ($2::bigint IS NULL OR owner.id = $2)
   GROUP BY key.id, owner.id ORDER BY sum(requests) DESC, sum(rejections) DESC, key.id`;

/** The latest day is first. */
export function usageByDay(database: StatementRunner, days: number, keyId: bigint) {
  return queryRows<object>(database, BY_DAY, [firstDay(days), keyId]);
}

/** The most used API key is first. Without an owner, of all. */
export function usageByKey(database: StatementRunner, days: number, ownerId: bigint | null) {
  return queryRows<object>(database, BY_KEY, [firstDay(days), ownerId]);
}

/** Returns the first of the last days, of which today is one, in UTC days since the epoch. */
function firstDay(days: number): number {
  return Math.floor(Date.now() / DAY_MS) - days + 1;
}
