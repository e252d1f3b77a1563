import { DAY_MS } from '../../config/clock.js';
import { hasKeyForm } from '../key-format.js';
import type { StoredPlan } from '../plan.js';
import { AdministrationError } from './administration-error.js';
import type { AdministrationRepository, KeyRecord } from './administration.repository.js';
import { toOwnerName } from './owner-name.js';

interface NewKey {
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
 * actor, and takes effect on every replica within seconds. All of them throw AdministrationError if
 * the API key or the owner does not exist.
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
    return this.repository.inTransaction(async (repository) => {
      const key = (await repository.getKeyMaker()).create();
      const isNewOwner = plan !== undefined && (await repository.insertOwner(name, plan));
      const keyId = await repository.insertKey(name, key, lifetimeMs);
      if (keyId === null) {
        throw new AdministrationError(
          `The owner "${name}" does not exist. To create an owner, set --plan.`,
        );
      }
      const created = await repository.getKey(keyId);
      if (plan && !isSamePlan(created, plan)) {
        throw new AdministrationError(
          `The owner "${name}" has the plan ${created.plan}${created.plan === plan.plan ? ' with different limits' : ''}. Omit --plan, or change the owner's plan with \`pets owners set-plan\`.`,
        );
      }
      const { ownerId, expiresAt } = created;
      const details = { ownerId, keyId, owner: name, plan: created.plan, isNewOwner, expiresAt };
      await repository.record('keys issue', details);
      return { ...created, key };
    });
  }

  /** Returns the API keys of an owner, or all. */
  async list(owner?: string): Promise<KeyRecord[]> {
    const keys = await this.repository.listKeys(owner);
    if (owner !== undefined && keys.length === 0) await this.repository.getOwner(owner);
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
    return this.repository.inTransaction(async (repository) => {
      const key = (await repository.getKeyMaker()).create();
      const firstKeyId = await repository.lockLineage(keyId);
      const { successorId: earlierSuccessorId } = await repository.getKey(keyId);
      const newKeyId = await repository.insertSuccessor(keyId, firstKeyId, key);
      if (newKeyId === null) {
        throw new AdministrationError(
          `The key ${keyId} is expired or revoked. ${earlierSuccessorId === null ? 'Issue a new one with `pets keys issue`.' : `Its successor is key ${earlierSuccessorId}.`}`,
        );
      }
      await repository.shortenKey(keyId, overlapMs);
      const created = await repository.getKey(newKeyId);
      const { expiresAt: oldKeyExpiresAt } = await repository.getKey(keyId);
      const { ownerId, owner, expiresAt } = created;
      const overlapSeconds = overlapMs / 1000;
      const details = { ownerId, keyId, newKeyId, owner, overlapSeconds, expiresAt };
      await repository.record('keys rotate', details);
      return { ...created, key, oldKeyExpiresAt, earlierSuccessorId };
    });
  }

  /** Revokes an API key. Nothing changes if it was already revoked. */
  async revoke(keyId: bigint): Promise<KeyRecord> {
    return this.repository.inTransaction(async (repository) => {
      const hasRevoked = await repository.revokeKey(keyId);
      const key = await repository.getKey(keyId);
      const { ownerId, owner } = key;
      if (hasRevoked) await repository.record('keys revoke', { ownerId, keyId, owner });
      return key;
    });
  }

  /** Lifts the ban, if any, of an API key and its whole rotation lineage. */
  async unban(keyId: bigint): Promise<KeyRecord> {
    return this.repository.inTransaction(async (repository) => {
      await repository.unbanLineage(await repository.lockLineage(keyId));
      const key = await repository.getKey(keyId);
      const { ownerId, owner } = key;
      await repository.record('keys unban', { ownerId, keyId, owner });
      return key;
    });
  }

  /** @param key the API key itself or its id */
  async inspect(key: bigint | string): Promise<KeyRecord> {
    if (typeof key === 'bigint') return this.repository.getKey(key);
    if (!hasKeyForm(key)) {
      throw new AdministrationError('This is not an API key. It may be mistyped or truncated.');
    }
    return this.repository.getKeyByText(key);
  }
}

function isSamePlan(one: StoredPlan, other: StoredPlan): boolean {
  return (
    one.plan === other.plan &&
    one.limitPerMinute === other.limitPerMinute &&
    one.limitPerDay === other.limitPerDay
  );
}
