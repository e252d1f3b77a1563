import type { StoredPlan } from '../plan.js';
import type { AdministrationRepository, OwnerRecord } from './administration.repository.js';

/** The operations on owners for operators. They work like those on API keys. */
export class OwnerAdministration {
  constructor(private readonly repository: AdministrationRepository) {}

  /** Returns all owners in the order of their names. */
  list(): Promise<OwnerRecord[]> {
    return this.repository.listOwners();
  }

  get(name: string): Promise<OwnerRecord> {
    return this.repository.getOwner(name);
  }

  /** Changes the owner's plan. Requests that the active windows have counted stay counted. */
  async setPlan(name: string, plan: StoredPlan): Promise<OwnerRecord> {
    return this.repository.inTransaction(async (repository) => {
      const previousPlan = await repository.setPlan(name, plan);
      const owner = await repository.getOwner(name);
      const details = { ownerId: owner.id, owner: name, previousPlan, ...plan };
      await repository.record('owners set-plan', details);
      return owner;
    });
  }
}
