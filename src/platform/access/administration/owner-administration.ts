import { EntityManager } from 'typeorm';
import type { StoredPlan } from '../../config/plans.js';
import { Owner } from '../owner.entity.js';
import { recordAction } from './operator-actions.repository.js';

/** The operations on owners for operators. They work like those on API keys. */
export class OwnerAdministration {
  constructor(private readonly database: EntityManager) {}

  /** Returns all owners in the order of their names. */
  list(): Promise<Owner[]> {
    return this.database.find(Owner, { order: { name: 'ASC' } });
  }

  async get(name: string): Promise<Owner> {
    return (await this.database.findOneBy(Owner, { name })) ?? rejectOwner(name);
  }

  /** Changes the owner's plan. Requests that the active windows have counted stay counted. */
  async setPlan(name: string, plan: StoredPlan): Promise<Owner> {
    return this.database.transaction(async (transaction) => {
      const owner = await lockOwner(transaction, name);
      const changed = { ownerId: owner.id, owner: name, previousPlan: owner.plan, ...plan };
      await recordAction(transaction, 'owners set-plan', changed);
      return transaction.save(Object.assign(owner, plan));
    });
  }
}

/** Locks an owner, also against new API keys. @throws Error if it does not exist */
export async function lockOwner(transaction: EntityManager, name: string): Promise<Owner> {
  const lock = { mode: 'pessimistic_write' } as const;
  return (await transaction.findOne(Owner, { where: { name }, lock })) ?? rejectOwner(name);
}

function rejectOwner(name: string): never {
  throw new Error(`The owner "${name}" does not exist.`);
}
