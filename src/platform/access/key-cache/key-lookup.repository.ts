import { Injectable } from '@nestjs/common';
import { limitsOf, type Plan } from '../../config/plans.js';
import { EntityManager } from 'typeorm';
import { PipelinedStatements } from '../../database/pipelining/pipelined-statements.js';
import { queryRows } from '../../database/sql.js';
import type { Access, KeyState } from '../caller.js';

const FIND_BY_HASH = `
  SELECT key.id, key.owner_id, owner.name, owner.plan, owner.limit_per_minute::int,
         owner.limit_per_day::int, coalesce(key.first_key_id, key.id), key.unban_count::int,
         key.expires_at, key.revoked_at IS NOT NULL, key.access
    FROM api_keys AS key
    JOIN owners AS owner ON owner.id = key.owner_id
   WHERE key.hash = decode($1, 'hex')`;

/**
 * A use is stored to the minute, which may have begun before the API key was created. It waits for no
 * lock: another replica stores the same API keys, and a command changes them. Returns the locked ones.
 */
const SAVE_LAST_USED = `
  WITH used AS (SELECT * FROM unnest($1::bigint[], $2::timestamptz[]) AS used (id, at)),
  free AS (
    SELECT id, at FROM api_keys AS key JOIN used USING (id)
     WHERE coalesce(last_used_at, '-infinity') < at
     ORDER BY id FOR NO KEY UPDATE OF key SKIP LOCKED),
  saved AS (
    UPDATE api_keys SET last_used_at = greatest(at, created_at) FROM free WHERE api_keys.id = free.id)
  SELECT id FROM api_keys JOIN used USING (id)
   WHERE coalesce(last_used_at, '-infinity') < at AND id NOT IN (SELECT id FROM free)`;

type Limit = number | null;
type OfKey = [bigint, number, Date | null, boolean, Access];
type Columns = [bigint, bigint, string, Plan, Limit, Limit, ...OfKey];

function toKey(columns: Columns): KeyState {
  const [keyId, ownerId, owner, plan, limitPerMinute, limitPerDay, ...ofKey] = columns;
  const [firstKeyId, unbanCount, expiresAt, revoked, access] = ofKey;
  const limits = limitsOf({ plan, limitPerMinute, limitPerDay });
  const expiresAtMs = expiresAt === null ? undefined : expiresAt.getTime();
  const state = { firstKeyId, unbanCount, expiresAtMs, revoked, access };
  return { keyId, ownerId, owner, plan, limits, ...state };
}

/** The queries on API keys for serving requests. */
@Injectable()
export class KeyLookupRepository {
  constructor(
    private readonly statements: PipelinedStatements,
    private readonly manager: EntityManager,
  ) {}

  /** Returns the state of the API key with this SHA-256 in hex, or null if it does not exist. */
  async findByHash(hash: string): Promise<KeyState | null> {
    const [key] = await this.statements.read(FIND_BY_HASH, [hash], toKey);
    return key ?? null;
  }

  /**
   * Stores times, in milliseconds since the epoch by key id, that are later than the stored ones.
   * Returns the ids of API keys whose time is not stored, because another transaction locks them.
   */
  async saveLastUsed(usedAtMs: ReadonlyMap<bigint, number>): Promise<Set<bigint>> {
    const values = [[...usedAtMs.keys()], [...usedAtMs.values()].map((ms) => new Date(ms))];
    const locked = await queryRows<{ id: bigint }>(this.manager, SAVE_LAST_USED, values);
    return new Set(locked.map(({ id }) => id));
  }
}
