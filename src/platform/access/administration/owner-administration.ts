import { Injectable } from '@nestjs/common';
import { EntityManager } from 'typeorm';
import { Plans, type StoredPlan } from '../../config/plans.js';
import { Owner } from '../owner.entity.js';
import { recordAction } from './operator-actions.repository.js';

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
    return this.database.find(Owner, { order: { name: 'ASC' } });
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
}

/** @param lock against other changes, and new API keys. @throws Error if the owner does not exist */
export async function getOwner(database: EntityManager, name: string, lock?: 'lock', advice = '') {
  const locking = lock && ({ lock: { mode: 'pessimistic_write' } } as const);
  const owner = await database.findOne(Owner, { where: { name }, ...locking });
  if (owner) return owner;
  throw new Error(`The owner "${name}" does not exist.${advice}`);
}
