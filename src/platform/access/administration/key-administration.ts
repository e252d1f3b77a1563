import { isDeepStrictEqual } from 'node:util';
import { type EntityManager, IsNull } from 'typeorm';
import { DAY_MS } from '../../config/clock.js';
import { queryRows } from '../../database/sql.js';
import { ApiKey } from '../api-key.entity.js';
import { KeySecret } from '../key-cache/key-secret.entity.js';
import { hashKey, hasKeyForm, keyHint, KeyMaker } from '../key-format.js';
import { Owner, type StoredPlan } from '../owner.entity.js';
import { AdministrationError } from './administration-error.js';
import { recordChange } from './operator-actions.repository.js';
import { OwnerAdministration } from './owner-administration.js';
import { toOwnerName } from './owner-name.js';

/** The audit trail records which key replaced which. The clock is that of the database. */
const SELECT_KEYS = `
  SELECT key.id, key.owner_id AS "ownerId", owner.name AS owner, owner.plan,
         owner.limit_per_minute AS "limitPerMinute", owner.limit_per_day AS "limitPerDay",
         coalesce(key.first_key_id, key.id) AS "firstKeyId", key.unban_count AS "unbanCount", key.hint,
         CASE WHEN key.revoked_at IS NOT NULL THEN 'revoked'
              WHEN key.expires_at <= now() THEN 'expired'
              WHEN rotation.successor_id IS NOT NULL THEN 'rotated'
              ELSE 'active' END AS status,
         key.created_at AS "createdAt", key.last_used_at AS "lastUsedAt",
         key.expires_at AS "expiresAt", key.revoked_at AS "revokedAt",
         rotation.successor_id AS "successorId"
    FROM api_keys AS key
    JOIN owners AS owner ON owner.id = key.owner_id
    LEFT JOIN LATERAL (
           SELECT (details ->> 'newKeyId')::bigint AS successor_id
             FROM operator_actions
            WHERE action = 'keys rotate' AND (details ->> 'keyId')::bigint = key.id
            ORDER BY id DESC LIMIT 1) AS rotation ON true`;

/** An API key as operators see it. */
export interface KeyRecord
  extends StoredPlan, Omit<ApiKey, 'firstKeyId' | 'hasProof' | 'hash' | 'owner'> {
  readonly owner: string;
  /** The first key of the rotation lineage, which may be this key. */
  readonly firstKeyId: bigint;
  /** rotated: another key replaces it, and it is valid until it expires. */
  readonly status: 'active' | 'rotated' | 'expired' | 'revoked';
  /** The latest key that replaced it. */
  readonly successorId: bigint | null;
}

interface NewKey {
  readonly owner: string;
  /** Required for a new owner. For an existing owner, it must be the current plan. */
  readonly plan?: StoredPlan | undefined;
  /** undefined: the API key does not expire. */
  readonly lifetimeMs?: number | undefined;
}

/** A new API key. Only now is the key itself known. */
export interface IssuedKey extends KeyRecord {
  readonly key: string;
}

/** An API key that replaces another one. */
export interface RotatedKey extends IssuedKey {
  readonly oldKeyExpiresAt: Date | null;
  /** The key that replaced the old key before, if any. */
  readonly earlierSuccessorId: bigint | null;
}

/**
 * The operations on API keys for operators. Each change is one transaction, is recorded with its
 * actor, and takes effect on every replica within seconds. All of them throw AdministrationError if
 * the API key or the owner does not exist.
 */
export class KeyAdministration {
  constructor(private readonly database: EntityManager) {}

  /**
   * Issues an API key and creates its owner if the owner does not exist.
   *
   * @throws AdministrationError if a new owner has no plan, or an existing owner a different one
   */
  async issue({ owner: text, plan, lifetimeMs }: NewKey): Promise<IssuedKey> {
    const name = toOwnerName(text);
    return this.database.transaction(async (transaction) => {
      const isNewOwner = plan !== undefined && (await insertOwner(transaction, { name, ...plan }));
      const owner = await transaction.findOneBy(Owner, { name });
      if (!owner) {
        throw new AdministrationError(
          `The owner "${name}" does not exist. To create an owner, set --plan.`,
        );
      }
      if (plan && !isSamePlan(owner, plan)) {
        throw new AdministrationError(
          `The owner "${name}" has the plan ${owner.plan}${owner.plan === plan.plan ? ' with different limits' : ''}. Omit --plan, or change the owner's plan with \`pets owners set-plan\`.`,
        );
      }
      const issued = await insertKey(transaction, { ownerId: owner.id }, lifetimeMs);
      const details = { plan: owner.plan, isNewOwner, expiresAt: issued.expiresAt };
      await recordChange(transaction, 'keys issue', issued, details);
      return issued;
    });
  }

  /** Returns the API keys of an owner, or all, in the order of their creation. */
  async list(owner?: string): Promise<KeyRecord[]> {
    const sql = `${SELECT_KEYS} WHERE $1::text IS NULL OR owner.name = $1 ORDER BY key.id`;
    const keys = await queryRows<KeyRecord>(this.database, sql, [owner ?? null]);
    if (owner !== undefined && keys.length === 0)
      await new OwnerAdministration(this.database).get(owner);
    return keys;
  }

  /**
   * Replaces an API key. The new key has the same owner, lineage and ban, and the lifetime that the
   * old key was issued with. The old key expires after the overlap, if it does not expire earlier.
   *
   * @param overlapMs how long both keys are valid; 0: the old key expires at once
   * @throws AdministrationError if the key has expired or was revoked
   */
  async rotate(keyId: bigint, overlapMs = DAY_MS): Promise<RotatedKey> {
    return this.database.transaction(async (transaction) => {
      const old = await lockLineage(transaction, keyId);
      const { firstKeyId, ownerId, unbanCount, successorId: earlierSuccessorId } = old;
      if (old.status === 'expired' || old.status === 'revoked') {
        throw new AdministrationError(
          `The key ${keyId} is expired or revoked. ${earlierSuccessorId === null ? 'Issue a new one with `pets keys issue`.' : `Its successor is key ${earlierSuccessorId}.`}`,
        );
      }
      // The newest key of the lineage gives the lifetime. Rotation has shortened that of all others.
      const [newest] = await transaction.find(ApiKey, {
        where: [{ id: firstKeyId }, { firstKeyId }],
        order: { id: 'DESC' },
        take: 1,
      });
      const lifetimeMs = newest?.expiresAt
        ? newest.expiresAt.getTime() - newest.createdAt.getTime()
        : undefined;
      const issued = await insertKey(transaction, { ownerId, firstKeyId, unbanCount }, lifetimeMs);
      // `least` ignores null.
      const expiry = `least(expires_at, ${fromNow(overlapMs)})`;
      await transaction.update(ApiKey, { id: keyId }, { expiresAt: () => expiry });
      const { expiresAt: oldKeyExpiresAt } = await getKey(transaction, keyId);
      const { id: newKeyId, expiresAt } = issued;
      const details = { newKeyId, overlapSeconds: overlapMs / 1000, expiresAt };
      await recordChange(transaction, 'keys rotate', old, details);
      return { ...issued, oldKeyExpiresAt, earlierSuccessorId };
    });
  }

  /** Revokes an API key. Nothing changes if it was already revoked. */
  async revoke(keyId: bigint): Promise<KeyRecord> {
    return this.database.transaction(async (transaction) => {
      const valid = { id: keyId, revokedAt: IsNull() };
      const { affected } = await transaction.update(ApiKey, valid, { revokedAt: () => 'now()' });
      const key = await getKey(transaction, keyId);
      if (affected) await recordChange(transaction, 'keys revoke', key);
      return key;
    });
  }

  /** Lifts the ban, if any, of an API key and its whole rotation lineage. */
  async unban(keyId: bigint): Promise<KeyRecord> {
    return this.database.transaction(async (transaction) => {
      const { firstKeyId } = await lockLineage(transaction, keyId);
      const lineage = [{ id: firstKeyId }, { firstKeyId }];
      await transaction.update(ApiKey, lineage, { unbanCount: () => 'unban_count + 1' });
      const key = await getKey(transaction, keyId);
      await recordChange(transaction, 'keys unban', key);
      return key;
    });
  }

  /** @param key the API key itself or its id */
  async inspect(key: bigint | string): Promise<KeyRecord> {
    if (typeof key === 'bigint') return getKey(this.database, key);
    if (!hasKeyForm(key)) {
      throw new AdministrationError('This is not an API key. It may be mistyped or truncated.');
    }
    const sql = `${SELECT_KEYS} WHERE key.hash = $1`;
    const [record] = await queryRows<KeyRecord>(this.database, sql, [hashOf(key)]);
    if (record) return record;
    throw new AdministrationError('This store did not issue this API key. It may be mistyped.');
  }
}

async function getKey(database: EntityManager, id: bigint): Promise<KeyRecord> {
  const [key] = await queryRows<KeyRecord>(database, `${SELECT_KEYS} WHERE key.id = $1`, [id]);
  if (key) return key;
  throw new AdministrationError(`The key ${id} does not exist.`);
}

/** Locks the first key, as every change of the lineage does. So it includes concurrent rotations. */
async function lockLineage(transaction: EntityManager, keyId: bigint): Promise<KeyRecord> {
  const { firstKeyId } = await getKey(transaction, keyId);
  const lock = { mode: 'for_no_key_update' } as const;
  await transaction.findOne(ApiKey, { where: { id: firstKeyId }, lock });
  return getKey(transaction, keyId);
}

/** Returns false if the name is taken. */
async function insertOwner(
  transaction: EntityManager,
  owner: StoredPlan & { name: string },
): Promise<boolean> {
  const insert = transaction.createQueryBuilder().insert().into(Owner).values(owner).orIgnore();
  const { raw } = (await insert.execute()) as { raw: unknown[] };
  return raw.length > 0;
}

async function insertKey(
  transaction: EntityManager,
  columns: Partial<Pick<ApiKey, 'ownerId' | 'firstKeyId' | 'unbanCount'>>,
  lifetimeMs: number | undefined,
): Promise<IssuedKey> {
  const [row] = await transaction.find(KeySecret);
  if (!row) throw new AdministrationError('The table key_secret is empty.');
  const key = new KeyMaker(row.secret).create();
  await transaction.insert(ApiKey, {
    ...columns,
    hash: hashOf(key),
    hint: keyHint(key),
    hasProof: true,
    ...(lifetimeMs !== undefined && { expiresAt: () => fromNow(lifetimeMs) }),
  });
  return { ...(await new KeyAdministration(transaction).inspect(key)), key };
}

/** Returns SQL for a time on the database's clock. */
function fromNow(ms: number): string {
  return `now() + ${ms}::float8 * interval '1 millisecond'`;
}

function hashOf(key: string): Buffer {
  return Buffer.from(hashKey(key), 'hex');
}

function isSamePlan({ plan, limitPerMinute, limitPerDay }: Owner, other: StoredPlan): boolean {
  return isDeepStrictEqual({ plan, limitPerMinute, limitPerDay }, other);
}
