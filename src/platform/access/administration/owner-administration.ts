import { Injectable } from '@nestjs/common';
import { EntityManager, IsNull } from 'typeorm';
import { Plans, type StoredPlan } from '../../config/plan-limits.js';
import { ApiKey } from '../api-key.entity.js';
import { Owner } from '../owner.entity.js';
import { recordAction } from './operator-actions.repository.js';
import { similarNames } from './similar-names.js';

/** SQLSTATE */
const UNIQUE_VIOLATION = '23505';

/** The operations on owners for operators. They work like those on API keys. */
@Injectable()
export class OwnerAdministration {
  constructor(
    private readonly database: EntityManager,
    private readonly plans: Plans,
  ) {}

  /** Returns all owners in the order of their names. */
  list(): Promise<Owner[]> {
    return this.database.find(Owner, { where: { removedAt: IsNull() }, order: { name: 'ASC' } });
  }

  /** Returns the names of owners that are probably meant, or null if there is an owner with this name. */
  async findSimilar(name: string): Promise<string[] | null> {
    const names = await ownerNames(this.database);
    return names.includes(name) ? null : similarNames(name, names);
  }

  get(name: string): Promise<Owner> {
    return getOwner(this.database, name);
  }

  /** Changes the owner's plan. Requests that the active windows have counted stay counted. */
  async setPlan(name: string, plan: StoredPlan): Promise<Owner> {
    this.plans.check(plan);
    return this.database.transaction('READ COMMITTED', async (transaction) => {
      const owner = await getOwner(transaction, name, 'lock');
      const changed = { ownerId: owner.id, owner: name, previousPlan: owner.plan, ...plan };
      await recordAction(transaction, 'owners set-plan', changed);
      return transaction.save(Object.assign(owner, plan));
    });
  }

  /** @throws Error if an owner with the new name exists */
  async rename(name: string, newName: string): Promise<Owner> {
    return this.database.transaction('READ COMMITTED', async (transaction) => {
      const owner = await getOwner(transaction, name, 'lock');
      const taken = new Error(`The owner "${newName}" already exists.`);
      if (newName === name) throw taken;
      const { id } = owner;
      await transaction.update(Owner, { id }, { name: newName }).catch((error: unknown) => {
        throw (error as { code?: unknown }).code === UNIQUE_VIOLATION ? taken : error;
      });
      const changed = { ownerId: id, owner: newName, previousName: name };
      await recordAction(transaction, 'owners rename', changed);
      return Object.assign(owner, { name: newName });
    });
  }

  /**
   * Returns the API keys that are valid and were never used. A removal of the owner revokes them.
   *
   * @throws Error if others are not revoked
   */
  findUnusedKeys(name: string): Promise<ApiKey[]> {
    return unusedKeys(this.database, name);
  }

  /**
   * Removes an owner. Its row stays for its usage and for what its API keys have added, but another owner
   * can get its name.
   *
   * @throws Error if API keys that were used are not revoked
   */
  async remove(name: string): Promise<{ owner: string; revokedKeyIds: bigint[] }> {
    return this.database.transaction('READ COMMITTED', async (transaction) => {
      const { id } = await getOwner(transaction, name, 'lock');
      const revokedKeyIds = (await unusedKeys(transaction, name)).map((key) => key.id);
      const unrevoked = { ownerId: id, revokedAt: IsNull() };
      await transaction.update(ApiKey, unrevoked, { revokedAt: () => 'now()' });
      const removedName = `${name} (removed owner ${id})`;
      await transaction.update(Owner, { id }, { name: removedName, removedAt: () => 'now()' });
      await recordAction(transaction, 'owners remove', { ownerId: id, owner: name, revokedKeyIds });
      return { owner: name, revokedKeyIds };
    });
  }
}

async function unusedKeys(database: EntityManager, name: string): Promise<ApiKey[]> {
  const { id: ownerId } = await getOwner(database, name);
  const keys = await database.findBy(ApiKey, { ownerId, revokedAt: IsNull() });
  const used = keys.filter((key) => key.lastUsedAt !== null).map((key) => key.id);
  if (used.length === 0) return keys;
  throw new Error(
    `The owner "${name}" has API keys that were used and are not revoked: ${used.join(', ')}. Revoke them first.`,
  );
}

async function ownerNames(database: EntityManager): Promise<string[]> {
  const select = { name: true };
  const owners = await database.find(Owner, { select, where: { removedAt: IsNull() } });
  return owners.map(({ name }) => name);
}

/**
 * Without a lock, also returns a removed owner by its last name, for its usage.
 *
 * @param lock against other changes, and new API keys
 * @throws Error if the owner does not exist, with the names that are probably meant
 */
export async function getOwner(database: EntityManager, name: string, lock?: 'lock', advice = '') {
  const owner = lock
    ? await database.findOne(Owner, {
        where: { name, removedAt: IsNull() },
        lock: { mode: 'pessimistic_write' },
      })
    : await database.findOneBy(Owner, { name });
  if (owner) return owner;
  const similar = similarNames(name, await ownerNames(database));
  const proposal =
    similar.length > 0 ? ` Similar names: ${similar.map((one) => `"${one}"`).join(', ')}.` : '';
  throw new Error(`The owner "${name}" does not exist.${proposal}${advice}`);
}
