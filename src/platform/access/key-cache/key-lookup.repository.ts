import { Injectable } from '@nestjs/common';
import { type Access, Plans } from '../../config/plan-limits.js';
import { PipelinedStatements } from '../../database/pipelining/pipelined-statements.js';
import type { KeyState } from '../../http/request/caller.js';

const FIND_BY_HASH = `
  SELECT key.id, key.owner_id, owner.name, owner.plan, owner.limit_per_minute::int,
         owner.limit_per_day::int, coalesce(key.first_key_id, key.id), key.unban_count::int,
         key.expires_at, key.revoked_at IS NOT NULL, key.access
    FROM api_keys AS key
    JOIN owners AS owner ON owner.id = key.owner_id
   WHERE key.hash = decode($1, 'hex')`;

type Limit = number | null;
type OfKey = [bigint, number, Date | null, boolean, Access];
type Columns = [bigint, bigint, string, string, Limit, Limit, ...OfKey];

const NO_LIMITS = { perMinute: 0, perDay: 0 };

function toKey(columns: Columns, plans: Plans): KeyState {
  const [keyId, ownerId, owner, plan, limitPerMinute, limitPerDay, ...ofKey] = columns;
  const [firstKeyId, unbanCount, expiresAt, revoked, access] = ofKey;
  const limits = plans.findLimits({ plan, limitPerMinute, limitPerDay });
  const planFailure = limits ? undefined : plans.failureOf(plan);
  const expiresAtMs = expiresAt === null ? undefined : expiresAt.getTime();
  const state = { firstKeyId, unbanCount, expiresAtMs, revoked, access };
  return { keyId, ownerId, owner, plan, limits: limits ?? NO_LIMITS, planFailure, ...state };
}

/** The query on API keys for serving requests. */
@Injectable()
export class KeyLookupRepository {
  constructor(
    private readonly statements: PipelinedStatements,
    private readonly plans: Plans,
  ) {}

  /** Returns the state of the API key with this SHA-256 in hex, or null if it does not exist. */
  async findByHash(hash: string): Promise<KeyState | null> {
    const [columns] = await this.statements.read(FIND_BY_HASH, [hash], (row: Columns) => row);
    return columns ? toKey(columns, this.plans) : null;
  }
}
