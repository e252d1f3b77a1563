import { Injectable } from '@nestjs/common';
import { limitsOf, type Plan } from '../../config/plans.js';
import { EntityManager } from 'typeorm';
import { PipelinedStatements } from '../../database/pipelining/pipelined-statements.js';
import { queryRows } from '../../database/sql.js';
import type { KeyState } from '../caller.js';

const FIND_BY_HASH = `
  SELECT key.id, key.owner_id, owner.name, owner.plan, owner.limit_per_minute, owner.limit_per_day,
         coalesce(key.first_key_id, key.id), key.unban_count, key.expires_at,
         key.revoked_at IS NOT NULL
    FROM api_keys AS key
    JOIN owners AS owner ON owner.id = key.owner_id
   WHERE key.hash = decode($1, 'hex')`;

/** A use is stored to the minute, which may have begun before the API key was created. */
const SAVE_LAST_USED = `
  UPDATE api_keys AS key
     SET last_used_at = greatest(used.at, key.created_at)
    FROM unnest($1::bigint[], $2::timestamptz[]) AS used (id, at)
   WHERE key.id = used.id AND (key.last_used_at IS NULL OR key.last_used_at < used.at)`;

type Limit = number | null;
type Columns = [bigint, bigint, string, Plan, Limit, Limit, bigint, number, Date | null, boolean];

function toKey(columns: Columns): KeyState {
  const [keyId, ownerId, owner, plan, limitPerMinute, limitPerDay, ...ofKey] = columns;
  const [firstKeyId, unbanCount, expiresAt, revoked] = ofKey;
  const limits = limitsOf({ plan, limitPerMinute, limitPerDay });
  const expiresAtMs = expiresAt?.getTime();
  return { keyId, ownerId, owner, plan, limits, firstKeyId, unbanCount, expiresAtMs, revoked };
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

  /** Stores times, in milliseconds since the epoch by key id, that are later than the stored ones. */
  async saveLastUsed(usedAtMs: ReadonlyMap<bigint, number>): Promise<void> {
    const times = [...usedAtMs.values()].map((ms) => new Date(ms));
    await queryRows(this.manager, SAVE_LAST_USED, [[...usedAtMs.keys()], times]);
  }
}
