import { changeRows, queryRows, type StatementRunner } from '../../database/sql.js';
import type { ApiKey } from '../api-key.entity.js';
import { hashKey, keyHint, KeyMaker } from '../key-format.js';
import type { Owner } from '../owner.entity.js';
import type { StoredPlan } from '../plan.js';
import { AdministrationError } from './administration-error.js';
import { OperatorActionsRepository } from './operator-actions.repository.js';

/** The NOTIFY channel for changes of API keys, plans and bans. The payload is the owner's id. */
export const KEY_CHANGES_CHANNEL = 'key_changes';

/** The audit trail records which key replaced which. */
const SELECT_KEYS = `
  WITH rotation AS (
    SELECT DISTINCT ON (old_id) (details ->> 'keyId')::bigint AS old_id,
           (details ->> 'newKeyId')::bigint AS successor_id
      FROM operator_actions
     WHERE action = 'keys rotate'
     ORDER BY old_id, id DESC)
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
    LEFT JOIN rotation ON rotation.old_id = key.id`;

const LIST_KEYS = `${SELECT_KEYS} WHERE $1::text IS NULL OR owner.name = $1 ORDER BY key.id`;

const INSERT_KEY = `
  INSERT INTO api_keys (owner_id, hash, hint, has_proof, expires_at)
  SELECT id, $2, $3, true, now() + $4::float8 * interval '1 millisecond' FROM owners WHERE name = $1
  RETURNING id`;

/** Every change of a lineage locks its first key, so that it includes keys of concurrent rotations. */
const LOCK_LINEAGE = `
  SELECT id FROM api_keys
   WHERE id = (SELECT coalesce(first_key_id, id) FROM api_keys WHERE id = $1)
     FOR NO KEY UPDATE`;

/** The newest key of the lineage gives the lifetime. Rotation has shortened that of all others. */
const INSERT_SUCCESSOR = `
  INSERT INTO api_keys (owner_id, first_key_id, hash, hint, has_proof, unban_count, expires_at)
  SELECT old.owner_id, $2::bigint, $3, $4, true, old.unban_count,
         now() + make_interval(secs => extract(epoch FROM newest.expires_at - newest.created_at)::float8)
    FROM api_keys AS old
    JOIN LATERAL (SELECT expires_at, created_at FROM api_keys
                   WHERE id = $2::bigint OR first_key_id = $2::bigint
                   ORDER BY id DESC LIMIT 1) AS newest ON true
   WHERE old.id = $1 AND old.revoked_at IS NULL
     AND (old.expires_at IS NULL OR old.expires_at > now())
  RETURNING id`;

/** `least` ignores null. */
const SHORTEN_KEY = `
  UPDATE api_keys
     SET expires_at = least(expires_at, now() + $2::float8 * interval '1 millisecond')
   WHERE id = $1`;

const REVOKE_KEY = 'UPDATE api_keys SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL';

const UNBAN_LINEAGE = `
  UPDATE api_keys SET unban_count = unban_count + 1 WHERE id = $1 OR first_key_id = $1`;

const INSERT_OWNER = `
  INSERT INTO owners (name, plan, limit_per_minute, limit_per_day) VALUES ($1, $2, $3, $4)
      ON CONFLICT ON CONSTRAINT owners_name_key DO NOTHING
  RETURNING id`;

const SELECT_OWNERS = `
  SELECT owner.id, owner.name, owner.plan,
         owner.limit_per_minute AS "limitPerMinute", owner.limit_per_day AS "limitPerDay",
         count(key.id) FILTER (WHERE key.revoked_at IS NULL
                                 AND (key.expires_at IS NULL OR key.expires_at > now())) AS "activeKeys",
         owner.created_at AS "createdAt"
    FROM owners AS owner
    LEFT JOIN api_keys AS key ON key.owner_id = owner.id`;

const LIST_OWNERS = `${SELECT_OWNERS} GROUP BY owner.id ORDER BY owner.name COLLATE "C"`;

const SET_PLAN = `
  UPDATE owners AS owner
     SET plan = $2, limit_per_minute = $3, limit_per_day = $4
    FROM (SELECT id, plan FROM owners WHERE name = $1 FOR NO KEY UPDATE) AS previous
   WHERE owner.id = previous.id
  RETURNING previous.plan`;

/** An API key as operators see it. */
export interface KeyRecord
  extends StoredPlan, Omit<ApiKey, 'firstKeyId' | 'hasProof' | 'hash' | 'owner'> {
  /** The owner's name. */
  readonly owner: string;
  /** The first key of the rotation lineage, which may be this key. */
  readonly firstKeyId: bigint;
  /** rotated: another key replaces it, and it is valid until it expires. */
  readonly status: 'active' | 'rotated' | 'expired' | 'revoked';
  /** The latest key that replaced it. */
  readonly successorId: bigint | null;
}

/** An owner as operators see it. */
export interface OwnerRecord extends Owner {
  readonly activeKeys: bigint;
}

/**
 * The statements of the administration. All stored times are those of the database's clock. The
 * methods `get…` and `lockLineage` throw AdministrationError if there is no such row.
 */
export class AdministrationRepository {
  /** @param database a connection or a transaction */
  constructor(private readonly database: StatementRunner) {}

  /** Runs the work in one transaction. @param work receives a repository of the transaction */
  inTransaction<Result>(
    work: (repository: AdministrationRepository) => Promise<Result>,
  ): Promise<Result> {
    return this.database.transaction((database) => work(new AdministrationRepository(database)));
  }

  async getKeyMaker(): Promise<KeyMaker> {
    const row = await this.first<{ secret: Buffer }>('SELECT secret FROM key_secret', []);
    return new KeyMaker(row?.secret ?? fail('The table key_secret is empty.'));
  }

  async getKey(id: bigint): Promise<KeyRecord> {
    const key = await this.first<KeyRecord>(`${SELECT_KEYS} WHERE key.id = $1`, [id]);
    return key ?? fail(`The key ${id} does not exist.`);
  }

  async getKeyByText(key: string): Promise<KeyRecord> {
    const sql = `${SELECT_KEYS} WHERE key.hash = $1`;
    const record = await this.first<KeyRecord>(sql, [hashOf(key)]);
    return record ?? fail('This store did not issue this API key. It may be mistyped.');
  }

  /** Returns the keys of an owner, or all keys, in the order of their creation. */
  listKeys(owner?: string): Promise<KeyRecord[]> {
    return queryRows<KeyRecord>(this.database, LIST_KEYS, [owner ?? null]);
  }

  /** Stores the hash of a key. Returns its id, or null if the owner does not exist. */
  insertKey(owner: string, key: string, lifetimeMs?: number): Promise<bigint | null> {
    return this.firstId(INSERT_KEY, [owner, hashOf(key), keyHint(key), lifetimeMs ?? null]);
  }

  /** Locks the key's lineage until the transaction ends. Returns the id of its first key. */
  async lockLineage(keyId: bigint): Promise<bigint> {
    const firstKeyId = await this.firstId(LOCK_LINEAGE, [keyId]);
    return firstKeyId ?? fail(`The key ${keyId} does not exist.`);
  }

  /** Returns the id of the key that replaces `oldId`, or null if that key is expired or revoked. */
  insertSuccessor(oldId: bigint, firstKeyId: bigint, key: string): Promise<bigint | null> {
    return this.firstId(INSERT_SUCCESSOR, [oldId, firstKeyId, hashOf(key), keyHint(key)]);
  }

  /** Makes a key expire after `remainingMs`, unless it expires earlier. */
  async shortenKey(id: bigint, remainingMs: number): Promise<void> {
    await changeRows(this.database, SHORTEN_KEY, [id, remainingMs]);
  }

  /** Returns false if the key was already revoked or does not exist. */
  async revokeKey(id: bigint): Promise<boolean> {
    return (await changeRows(this.database, REVOKE_KEY, [id])) > 0;
  }

  /** Lifts the ban of a lineage, if any. */
  async unbanLineage(firstKeyId: bigint): Promise<void> {
    await changeRows(this.database, UNBAN_LINEAGE, [firstKeyId]);
  }

  /** Creates an owner. Returns false if the name is taken. */
  async insertOwner(name: string, plan: StoredPlan): Promise<boolean> {
    return (await this.firstId(INSERT_OWNER, [name, ...columnsOf(plan)])) !== null;
  }

  async getOwner(name: string): Promise<OwnerRecord> {
    const sql = `${SELECT_OWNERS} WHERE owner.name = $1 GROUP BY owner.id`;
    const owner = await this.first<OwnerRecord>(sql, [name]);
    return owner ?? fail(`The owner "${name}" does not exist.`);
  }

  /** Returns all owners in the order of their names. */
  listOwners(): Promise<OwnerRecord[]> {
    return queryRows<OwnerRecord>(this.database, LIST_OWNERS);
  }

  /** Returns the owner's previous plan, or null if the owner does not exist. */
  async setPlan(name: string, plan: StoredPlan): Promise<string | null> {
    const values = [name, ...columnsOf(plan)];
    return (await this.first<{ plan: string }>(SET_PLAN, values))?.plan ?? null;
  }

  /** Records a change, such as `keys revoke`, and notifies the replicas when it is committed. */
  async record(
    action: string,
    details: { ownerId: bigint; owner: string; [name: string]: unknown },
  ): Promise<void> {
    await new OperatorActionsRepository(this.database).record(action, details);
    const payload = details.ownerId.toString();
    await queryRows(this.database, 'SELECT pg_notify($1, $2)', [KEY_CHANGES_CHANNEL, payload]);
  }

  private async first<Row>(sql: string, values: unknown[]): Promise<Row | null> {
    const [row] = await queryRows<Row>(this.database, sql, values);
    return row ?? null;
  }

  private async firstId(sql: string, values: unknown[]): Promise<bigint | null> {
    return (await this.first<{ id: bigint }>(sql, values))?.id ?? null;
  }
}

function columnsOf({ plan, limitPerMinute, limitPerDay }: StoredPlan): unknown[] {
  return [plan, limitPerMinute, limitPerDay];
}

function hashOf(key: string): Buffer {
  return Buffer.from(hashKey(key), 'hex');
}

function fail(message: string): never {
  throw new AdministrationError(message);
}
