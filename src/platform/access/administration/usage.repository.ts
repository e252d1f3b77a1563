import { queryRows, type StatementRunner } from '../../database/sql.js';

const SUMS = 'sum(requests)::bigint AS requests, sum(rejections)::bigint AS rejections';

/** One day, or the last days including today. The sessions of the service have the time zone UTC. */
const IN_DAYS = `(day = $1::date OR day > current_date - $2::int)`;

const BY_KEY = `
  SELECT key.id, owner.name AS owner, key.access, key.note, ${SUMS} FROM api_key_usage
    JOIN api_keys AS key ON key.id = key_id
    JOIN owners AS owner ON owner.id = key.owner_id
   WHERE ${IN_DAYS} AND ($3::bigint IS NULL OR owner.id = $3)
   GROUP BY key.id, owner.id ORDER BY sum(requests) DESC, sum(rejections) DESC, key.id`;

const BY_DAY_AND_KEY = `
  SELECT day, owner.name AS owner, key.id AS "keyId", key.note, ${SUMS} FROM api_key_usage
    JOIN api_keys AS key ON key.id = key_id
    JOIN owners AS owner ON owner.id = key.owner_id
   WHERE ${IN_DAYS} AND ($3::bigint IS NULL OR owner.id = $3) AND ($4::bigint IS NULL OR key.id = $4)
   GROUP BY day, key.id, owner.id ORDER BY day, owner.name, key.id`;

/** The most used API key is first. Without an owner, of all. */
export function usageByKey(
  database: StatementRunner,
  days: string | number,
  ownerId: bigint | null,
) {
  return queryRows<object>(database, BY_KEY, [...daysOf(days), ownerId]);
}

/** The first day is first, and then the owners by name. Without an owner or an API key, of all. */
export function usageByDayAndKey(
  database: StatementRunner,
  days: string | number,
  { ownerId, keyId }: { ownerId: bigint | null; keyId: bigint | null },
) {
  const values = [...daysOf(days), ownerId, keyId];
  return queryRows<Record<string, unknown>>(database, BY_DAY_AND_KEY, values);
}

function daysOf(days: string | number): [day: string | null, last: number | null] {
  return typeof days === 'string' ? [days, null] : [null, days];
}
