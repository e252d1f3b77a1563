import type { StatementRunner } from '../../database/statement-runner.js';
import { KEY_CHANGES_CHANNEL, keyChangePayload } from '../key-cache/key-change.js';
import type { StoredPlan } from './plan-choice.js';

const KEY_COLUMNS = `
         key.id, key.owner_id AS "ownerId", owner.name AS owner, owner.plan,
         owner.limit_per_minute AS "limitPerMinute", owner.limit_per_day AS "limitPerDay",
         coalesce(key.first_key_id, key.id) AS "firstKeyId", key.hint,
         CASE WHEN key.revoked_at IS NOT NULL THEN 'revoked'
              WHEN key.expires_at <= now() THEN 'expired'
              ELSE 'active' END AS status,
         key.created_at AS "createdAt", key.last_used_at AS "lastUsedAt",
         key.expires_at AS "expiresAt", key.revoked_at AS "revokedAt"`;

const SELECT_KEYS = `
  SELECT ${KEY_COLUMNS}
    FROM api_keys AS key
    JOIN owners AS owner ON owner.id = key.owner_id`;

const FIND_KEY = `${SELECT_KEYS} WHERE key.id = $1`;
const FIND_KEY_BY_HASH = `${SELECT_KEYS} WHERE key.hash = $1`;
const LIST_KEYS = `${SELECT_KEYS} WHERE $1::text IS NULL OR owner.name = $1 ORDER BY key.id`;

const INSERT_KEY = `
  INSERT INTO api_keys (owner_id, hash, hint, expires_at)
  SELECT id, $2, $3, now() + $4::float8 * interval '1 millisecond' FROM owners WHERE name = $1
  RETURNING id`;

/**
 * All that changes a whole line of keys holds the row of its first key: a key that rotation adds
 * meanwhile would miss the change.
 */
const LOCK_LINE = `
  SELECT id FROM api_keys
   WHERE id = (SELECT coalesce(first_key_id, id) FROM api_keys WHERE id = $1)
     FOR NO KEY UPDATE`;

/** The lifetime is read off the newest key of the line: rotation has shortened that of all others. */
const INSERT_SUCCESSOR = `
  INSERT INTO api_keys (owner_id, first_key_id, hash, hint, unban_count, expires_at)
  SELECT old.owner_id, $2::bigint, $3, $4, old.unban_count,
         now() + make_interval(secs => extract(epoch FROM newest.expires_at - newest.created_at)::float8)
    FROM api_keys AS old
    JOIN LATERAL (SELECT expires_at, created_at FROM api_keys
                   WHERE id = $2::bigint OR first_key_id = $2::bigint
                   ORDER BY id DESC LIMIT 1) AS newest ON true
   WHERE old.id = $1 AND old.revoked_at IS NULL
     AND (old.expires_at IS NULL OR old.expires_at > now())
  RETURNING id`;

/** least() passes over null. */
const SHORTEN_KEY = `
  UPDATE api_keys
     SET expires_at = least(expires_at, now() + $2::float8 * interval '1 millisecond')
   WHERE id = $1`;

const REVOKE_KEY = 'UPDATE api_keys SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL';

const UNBAN_LINE = `
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

const FIND_OWNER = `${SELECT_OWNERS} WHERE owner.name = $1 GROUP BY owner.id`;
const LIST_OWNERS = `${SELECT_OWNERS} GROUP BY owner.id ORDER BY owner.name COLLATE "C"`;

const SET_PLAN = `
  UPDATE owners AS owner
     SET plan = $2, limit_per_minute = $3, limit_per_day = $4
    FROM (SELECT id, plan FROM owners WHERE name = $1 FOR NO KEY UPDATE) AS previous
   WHERE owner.id = previous.id
  RETURNING previous.plan`;

const RECORD = `
  WITH recorded AS (
    INSERT INTO operator_actions (actor, action, details)
    VALUES ($1, $2, jsonb_strip_nulls(jsonb_build_object(
              'ownerId', $3::bigint, 'keyId', $4::bigint, 'newKeyId', $5::bigint)) || $6::jsonb))
  SELECT pg_notify($7, $8)`;

/** A key as operators see it. */
export interface KeyRecord extends StoredPlan {
  readonly id: bigint;
  readonly ownerId: bigint;
  /** The owner's name. */
  readonly owner: string;
  /** The first key of the line that rotation made this one of; the key itself when it is that. */
  readonly firstKeyId: bigint;
  readonly hint: string;
  readonly status: 'active' | 'expired' | 'revoked';
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

/** An owner as operators see it. */
export interface OwnerRecord extends StoredPlan {
  readonly id: bigint;
  readonly name: string;
  readonly activeKeys: bigint;
  readonly createdAt: Date;
}

/** What is stored of a key that is to be made. */
export interface KeySecret {
  readonly hash: Buffer;
  readonly hint: string;
}

/** A change that was made, for the record and for the replicas. */
export interface Change {
  readonly actor: string;
  /** The command, such as `keys revoke`. */
  readonly action: string;
  readonly ownerId: bigint;
  readonly keyId?: bigint;
  /** The key that takes the place of the other. */
  readonly newKeyId?: bigint;
  readonly details?: Readonly<Record<string, string | number | boolean | null>>;
}

/**
 * The statements that administration needs, on the connection or the transaction that it is made
 * with. Every time that is stored is the database's.
 */
export class AdministrationRepository {
  constructor(private readonly database: StatementRunner) {}

  /** Does the work in one transaction, of which it is handed a repository. */
  inTransaction<Result>(
    work: (repository: AdministrationRepository) => Promise<Result>,
  ): Promise<Result> {
    return this.database.transaction((database) => work(new AdministrationRepository(database)));
  }

  async findKey(id: bigint): Promise<KeyRecord | null> {
    const [key] = await this.database.query<KeyRecord[]>(FIND_KEY, [id]);
    return key ?? null;
  }

  /** @param hash SHA-256 of the key */
  async findKeyByHash(hash: Buffer): Promise<KeyRecord | null> {
    const [key] = await this.database.query<KeyRecord[]>(FIND_KEY_BY_HASH, [hash]);
    return key ?? null;
  }

  /** Returns the keys in the order they were made, of one owner when a name is given. */
  listKeys(owner?: string): Promise<KeyRecord[]> {
    return this.database.query<KeyRecord[]>(LIST_KEYS, [owner ?? null]);
  }

  /** Returns the new key's id, or null when there is no such owner. */
  async insertKey(
    owner: string,
    { hash, hint }: KeySecret,
    lifetimeMs: number | undefined,
  ): Promise<bigint | null> {
    const [key] = await this.database.query<{ id: bigint }[]>(INSERT_KEY, [
      owner,
      hash,
      hint,
      lifetimeMs ?? null,
    ]);
    return key?.id ?? null;
  }

  /**
   * Keeps other changes of the key's line waiting until the transaction ends. Returns the id of the
   * line's first key, or null when there is no such key.
   */
  async lockLine(keyId: bigint): Promise<bigint | null> {
    const [first] = await this.database.query<{ id: bigint }[]>(LOCK_LINE, [keyId]);
    return first?.id ?? null;
  }

  /** Returns the id of the key that follows `oldId`, or null when that one no longer works. */
  async insertSuccessor(
    oldId: bigint,
    firstKeyId: bigint,
    { hash, hint }: KeySecret,
  ): Promise<bigint | null> {
    const [key] = await this.database.query<{ id: bigint }[]>(INSERT_SUCCESSOR, [
      oldId,
      firstKeyId,
      hash,
      hint,
    ]);
    return key?.id ?? null;
  }

  /** Lets a key expire after `remainingMs`, if it does not do so before. */
  async shortenKey(id: bigint, remainingMs: number): Promise<void> {
    await this.database.query(SHORTEN_KEY, [id, remainingMs]);
  }

  /** Returns whether this has revoked the key: false when it was revoked before, or is not there. */
  async revokeKey(id: bigint): Promise<boolean> {
    const [, revoked] = await this.database.query<[unknown, number]>(REVOKE_KEY, [id]);
    return revoked > 0;
  }

  /** Makes bans void that were recorded for the line of keys that begins with `firstKeyId`. */
  async unbanLine(firstKeyId: bigint): Promise<void> {
    await this.database.query(UNBAN_LINE, [firstKeyId]);
  }

  /** Returns whether this has made the owner: false when there is one of that name. */
  async insertOwner(name: string, plan: StoredPlan): Promise<boolean> {
    const made = await this.database.query<unknown[]>(INSERT_OWNER, [
      name,
      plan.plan,
      plan.limitPerMinute,
      plan.limitPerDay,
    ]);
    return made.length > 0;
  }

  async findOwner(name: string): Promise<OwnerRecord | null> {
    const [owner] = await this.database.query<OwnerRecord[]>(FIND_OWNER, [name]);
    return owner ?? null;
  }

  /** Returns all owners, by name. */
  listOwners(): Promise<OwnerRecord[]> {
    return this.database.query<OwnerRecord[]>(LIST_OWNERS);
  }

  /** Returns the plan that the owner had before, or null when there is no such owner. */
  async setPlan(name: string, plan: StoredPlan): Promise<string | null> {
    const [[previous]] = await this.database.query<[{ plan: string }[], number]>(SET_PLAN, [
      name,
      plan.plan,
      plan.limitPerMinute,
      plan.limitPerDay,
    ]);
    return previous?.plan ?? null;
  }

  /** Writes down who changed what, and tells the replicas, both when the transaction commits. */
  async record(change: Change): Promise<void> {
    const { actor, action, ownerId, keyId, newKeyId, details = {} } = change;
    await this.database.query(RECORD, [
      actor,
      action,
      ownerId,
      keyId ?? null,
      newKeyId ?? null,
      JSON.stringify(details),
      KEY_CHANGES_CHANNEL,
      keyChangePayload({ ownerId }),
    ]);
  }
}
