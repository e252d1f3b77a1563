import { AdministrationError } from './administration-error.js';
import type {
  AdministrationRepository,
  KeyRecord,
  KeySecret,
} from './administration.repository.js';
import { generateKey, hashKey, hasKeyForm, keyHint } from '../key-format.js';
import { toOwnerName } from './owner-name.js';
import { isSamePlan, type PlanChoice, toStoredPlan } from './plan-choice.js';

export const DEFAULT_OVERLAP_MS = 86_400_000;

export interface NewKey {
  /** The owner's name. */
  readonly owner: string;
  /** Needed when the owner is new; for another one it has to be the plan that it has. */
  readonly plan?: PlanChoice | undefined;
  /** undefined: the key does not expire. */
  readonly lifetimeMs?: number | undefined;
}

/** A key that was just made: the only time that it is known. */
export interface IssuedKey extends KeyRecord {
  readonly key: string;
}

/** A key made by rotation, and what became of the one that it follows. */
export interface RotatedKey extends IssuedKey {
  readonly oldKeyExpiresAt: Date | null;
}

/**
 * What operators do with keys. Every change is one transaction, recorded with who made it, and holds
 * on every replica within seconds.
 */
export class KeyAdministration {
  /** @param actor whose changes they are, as `user@host` */
  constructor(
    private readonly repository: AdministrationRepository,
    private readonly actor: string,
  ) {}

  /**
   * Makes a key, and its owner when that is new.
   *
   * @throws AdministrationError when a new owner is given no plan, or a known one another plan
   */
  async issue({ owner, plan, lifetimeMs }: NewKey): Promise<IssuedKey> {
    const name = toOwnerName(owner);
    const storedPlan = plan && toStoredPlan(plan);
    const [key, secret] = makeKey();
    return this.repository.inTransaction(async (repository) => {
      const isNewOwner =
        storedPlan !== undefined && (await repository.insertOwner(name, storedPlan));
      const id = await repository.insertKey(name, secret, lifetimeMs);
      if (id === null) {
        throw new AdministrationError(
          `there is no owner "${name}" yet: a new one needs a plan (--plan)`,
        );
      }
      const made = await getKey(repository, id);
      if (storedPlan && !isSamePlan(made, storedPlan)) {
        throw new AdministrationError(
          `owner "${name}" has the plan ${made.plan}${made.plan === storedPlan.plan ? ' with other limits' : ''}: leave --plan out, or change it with "owners set-plan"`,
        );
      }
      await repository.record({
        actor: this.actor,
        action: 'keys issue',
        ownerId: made.ownerId,
        keyId: id,
        details: {
          owner: name,
          plan: made.plan,
          isNewOwner,
          expiresAt: made.expiresAt?.toISOString() ?? null,
        },
      });
      return { ...made, key };
    });
  }

  /** @throws AdministrationError when there is no such owner */
  async list(owner?: string): Promise<KeyRecord[]> {
    if (owner === undefined) return this.repository.listKeys();
    const name = toOwnerName(owner);
    const keys = await this.repository.listKeys(name);
    if (keys.length === 0 && !(await this.repository.findOwner(name))) {
      throw new AdministrationError(`there is no owner "${name}"`);
    }
    return keys;
  }

  /**
   * Makes a key that takes the place of another: of the same owner and line, so that a ban holds for
   * it too, and with a lifetime as long as the other was issued with, beginning now. The old key
   * expires after the overlap, or when it would have, whichever comes first.
   *
   * @param overlapMs for how long both keys work; 0: the old one stops at once
   * @throws AdministrationError when there is no such key, or it no longer works
   */
  async rotate(id: bigint, overlapMs = DEFAULT_OVERLAP_MS): Promise<RotatedKey> {
    const [key, secret] = makeKey();
    return this.repository.inTransaction(async (repository) => {
      const firstKeyId = await lockLine(repository, id);
      const newId = await repository.insertSuccessor(id, firstKeyId, secret);
      if (newId === null) {
        throw new AdministrationError(
          `key ${id} is expired or revoked: issue a new one with "keys issue"`,
        );
      }
      await repository.shortenKey(id, overlapMs);
      const made = await getKey(repository, newId);
      const { expiresAt: oldKeyExpiresAt } = await getKey(repository, id);
      await repository.record({
        actor: this.actor,
        action: 'keys rotate',
        ownerId: made.ownerId,
        keyId: id,
        newKeyId: newId,
        details: {
          owner: made.owner,
          overlapSeconds: overlapMs / 1000,
          expiresAt: made.expiresAt?.toISOString() ?? null,
        },
      });
      return { ...made, key, oldKeyExpiresAt };
    });
  }

  /**
   * Stops a key for good. One that was revoked before stays so since then, and nothing is recorded.
   *
   * @throws AdministrationError when there is no such key
   */
  async revoke(id: bigint): Promise<KeyRecord> {
    return this.repository.inTransaction(async (repository) => {
      const hasRevoked = await repository.revokeKey(id);
      const key = await getKey(repository, id);
      if (hasRevoked) await repository.record(this.changeOf(key, 'keys revoke'));
      return key;
    });
  }

  /**
   * Lifts the ban, if there is one, of a key and of all that rotation made before and after it.
   *
   * @throws AdministrationError when there is no such key
   */
  async unban(id: bigint): Promise<KeyRecord> {
    return this.repository.inTransaction(async (repository) => {
      await repository.unbanLine(await lockLine(repository, id));
      const key = await getKey(repository, id);
      await repository.record(this.changeOf(key, 'keys unban'));
      return key;
    });
  }

  /** @throws AdministrationError when there is no such key */
  async inspect(id: bigint): Promise<KeyRecord> {
    return getKey(this.repository, id);
  }

  /** @throws AdministrationError when it is not a key, and when it is not one of this store */
  async inspectKey(key: string): Promise<KeyRecord> {
    if (!hasKeyForm(key)) {
      throw new AdministrationError(
        'this is not an API key: it lacks the form or the checksum of one, and may be mistyped or cut off',
      );
    }
    const record = await this.repository.findKeyByHash(hashOf(key));
    if (!record)
      throw new AdministrationError('the key is well formed, but was not issued by this store');
    return record;
  }

  private changeOf({ id, ownerId, owner }: KeyRecord, action: string) {
    return { actor: this.actor, action, ownerId, keyId: id, details: { owner } };
  }
}

function makeKey(): [key: string, secret: KeySecret] {
  const key = generateKey();
  return [key, { hash: hashOf(key), hint: keyHint(key) }];
}

function hashOf(key: string): Buffer {
  return Buffer.from(hashKey(key), 'hex');
}

async function getKey(repository: AdministrationRepository, id: bigint): Promise<KeyRecord> {
  return (await repository.findKey(id)) ?? absent(id);
}

async function lockLine(repository: AdministrationRepository, id: bigint): Promise<bigint> {
  return (await repository.lockLine(id)) ?? absent(id);
}

function absent(id: bigint): never {
  throw new AdministrationError(`there is no key ${id}`);
}
