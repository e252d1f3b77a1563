import { DAY_MS } from '../../config/clock.js';
import { AdministrationError } from './administration-error.js';
import type {
  AdministrationRepository,
  KeyRecord,
  KeySecret,
} from './administration.repository.js';
import type { StoredPlan } from '../plan.js';
import { generateKey, hashKey, hasKeyForm, keyHint } from '../key-format.js';
import { toOwnerName } from './owner-name.js';

export const DEFAULT_OVERLAP_MS = DAY_MS;

export interface NewKey {
  /** The owner's name. */
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
 * actor, and takes effect on every replica within seconds.
 */
export class KeyAdministration {
  constructor(private readonly repository: AdministrationRepository) {}

  /**
   * Issues an API key and creates its owner if the owner does not exist.
   *
   * @throws AdministrationError if a new owner has no plan, or an existing owner a different one
   */
  async issue({ owner, plan, lifetimeMs }: NewKey): Promise<IssuedKey> {
    const name = toOwnerName(owner);
    const [key, secret] = createKey();
    return this.repository.inTransaction(async (repository) => {
      const isNewOwner = plan !== undefined && (await repository.insertOwner(name, plan));
      const id = await repository.insertKey(name, secret, lifetimeMs);
      if (id === null) {
        throw new AdministrationError(
          `The owner "${name}" does not exist. To create an owner, set --plan.`,
        );
      }
      const created = await getKey(repository, id);
      if (plan && !isSamePlan(created, plan)) {
        throw new AdministrationError(
          `The owner "${name}" has the plan ${created.plan}${created.plan === plan.plan ? ' with different limits' : ''}. Omit --plan, or change the owner's plan with "owners set-plan".`,
        );
      }
      const { ownerId, expiresAt } = created;
      const details = { keyId: id, owner: name, plan: created.plan, isNewOwner, expiresAt };
      await repository.record('keys issue', ownerId, details);
      return { ...created, key };
    });
  }

  /** @throws AdministrationError if the owner does not exist */
  async list(owner?: string): Promise<KeyRecord[]> {
    if (owner === undefined) return this.repository.listKeys();
    const name = toOwnerName(owner);
    const keys = await this.repository.listKeys(name);
    if (keys.length === 0 && !(await this.repository.findOwner(name))) {
      throw new AdministrationError(`The owner "${name}" does not exist.`);
    }
    return keys;
  }

  /**
   * Replaces an API key. The new key has the same owner, lineage and ban, and the lifetime that the
   * old key was issued with, starting now. The old key expires after the overlap, or at its own
   * expiry if that is earlier.
   *
   * @param overlapMs how long both keys are valid; 0: the old key expires at once
   * @throws AdministrationError if the key does not exist, has expired or was revoked
   */
  async rotate(id: bigint, overlapMs = DEFAULT_OVERLAP_MS): Promise<RotatedKey> {
    const [key, secret] = createKey();
    return this.repository.inTransaction(async (repository) => {
      const firstKeyId = await lockLineage(repository, id);
      const { successorId: earlierSuccessorId } = await getKey(repository, id);
      const newId = await repository.insertSuccessor(id, firstKeyId, secret);
      if (newId === null) {
        throw new AdministrationError(
          `The key ${id} is expired or revoked. ${earlierSuccessorId === null ? 'Issue a new one with "keys issue".' : `Its successor is key ${earlierSuccessorId}.`}`,
        );
      }
      await repository.shortenKey(id, overlapMs);
      const created = await getKey(repository, newId);
      const { expiresAt: oldKeyExpiresAt } = await getKey(repository, id);
      const { ownerId, owner, expiresAt } = created;
      const details = {
        keyId: id,
        newKeyId: newId,
        owner,
        overlapSeconds: overlapMs / 1000,
        expiresAt,
      };
      await repository.record('keys rotate', ownerId, details);
      return { ...created, key, oldKeyExpiresAt, earlierSuccessorId };
    });
  }

  /**
   * Revokes an API key. Nothing changes if it was already revoked.
   *
   * @throws AdministrationError if the key does not exist
   */
  async revoke(id: bigint): Promise<KeyRecord> {
    return this.repository.inTransaction(async (repository) => {
      const hasRevoked = await repository.revokeKey(id);
      const key = await getKey(repository, id);
      if (hasRevoked) await recordChange(repository, 'keys revoke', key);
      return key;
    });
  }

  /**
   * Lifts the ban, if any, of an API key and its whole rotation lineage.
   *
   * @throws AdministrationError if the key does not exist
   */
  async unban(id: bigint): Promise<KeyRecord> {
    return this.repository.inTransaction(async (repository) => {
      await repository.unbanLineage(await lockLineage(repository, id));
      const key = await getKey(repository, id);
      await recordChange(repository, 'keys unban', key);
      return key;
    });
  }

  /**
   * @param key the API key itself or its id
   * @throws AdministrationError if it does not exist or does not have the form of an API key
   */
  async inspect(key: bigint | string): Promise<KeyRecord> {
    if (typeof key === 'bigint') return getKey(this.repository, key);
    if (!hasKeyForm(key)) {
      throw new AdministrationError(
        'This is not an API key. Its form or checksum is wrong, so it may be mistyped or truncated.',
      );
    }
    const record = await this.repository.findKeyByHash(hashOf(key));
    if (!record)
      throw new AdministrationError('The key is well-formed, but this store did not issue it.');
    return record;
  }
}

function recordChange(
  repository: AdministrationRepository,
  action: string,
  { id, ownerId, owner }: KeyRecord,
): Promise<void> {
  return repository.record(action, ownerId, { keyId: id, owner });
}

function isSamePlan(one: StoredPlan, other: StoredPlan): boolean {
  return (
    one.plan === other.plan &&
    one.limitPerMinute === other.limitPerMinute &&
    one.limitPerDay === other.limitPerDay
  );
}

function createKey(): [key: string, secret: KeySecret] {
  const key = generateKey();
  return [key, { hash: hashOf(key), hint: keyHint(key) }];
}

function hashOf(key: string): Buffer {
  return Buffer.from(hashKey(key), 'hex');
}

async function getKey(repository: AdministrationRepository, id: bigint): Promise<KeyRecord> {
  return (await repository.findKey(id)) ?? throwMissing(id);
}

async function lockLineage(repository: AdministrationRepository, id: bigint): Promise<bigint> {
  return (await repository.lockLineage(id)) ?? throwMissing(id);
}

function throwMissing(id: bigint): never {
  throw new AdministrationError(`The key ${id} does not exist.`);
}
