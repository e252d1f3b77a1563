import { Injectable } from '@nestjs/common';
import { limitsOf, type StoredPlan } from '../../config/plans.js';
import { LookupPool } from '../../database/pools/lookup-pool.js';
import type { CachedKey } from '../cached-key.js';

const FIND_BY_HASH = `
  SELECT key.id, key.owner_id AS "ownerId", owner.plan,
         owner.limit_per_minute AS "limitPerMinute", owner.limit_per_day AS "limitPerDay",
         coalesce(key.first_key_id, key.id) AS "firstKeyId", key.unban_count AS "unbanCount",
         key.expires_at AS "expiresAt", key.revoked_at IS NOT NULL AS revoked
    FROM api_keys AS key
    JOIN owners AS owner ON owner.id = key.owner_id
   WHERE key.hash = $1`;

/** A use is stored to the minute, which may have begun before the API key was created. */
const SAVE_LAST_USED = `
  UPDATE api_keys AS key
     SET last_used_at = greatest(used.at, key.created_at)
    FROM unnest($1::bigint[], $2::timestamptz[]) AS used (id, at)
   WHERE key.id = used.id AND (key.last_used_at IS NULL OR key.last_used_at < used.at)`;

type KeyRow = StoredPlan & Omit<CachedKey, 'limits' | 'expiresAtMs'> & { expiresAt: Date | null };

/** The queries on API keys for serving requests. */
@Injectable()
export class KeyLookupRepository {
  constructor(private readonly pool: LookupPool) {}

  /** Returns the state of the API key with this SHA-256 in hex, or null if it does not exist. */
  async findByHash(hash: string): Promise<CachedKey | null> {
    const [row] = await this.pool.query<KeyRow>(FIND_BY_HASH, [Buffer.from(hash, 'hex')]);
    if (!row) return null;
    const { id, ownerId, plan, firstKeyId, unbanCount, expiresAt, revoked } = row;
    const expiresAtMs = expiresAt?.getTime();
    const limits = limitsOf(row);
    return { id, ownerId, plan, limits, firstKeyId, unbanCount, expiresAtMs, revoked };
  }

  /** Stores the times, since the epoch by key id, that are later than the stored ones. */
  async saveLastUsed(usedAtMs: ReadonlyMap<bigint, number>): Promise<void> {
    const times = [...usedAtMs.values()].map((ms) => new Date(ms));
    await this.pool.query(SAVE_LAST_USED, [[...usedAtMs.keys()], times]);
  }
}
