import type { StoredPlan } from '../plan.js';
import type { AdministrationRepository, OwnerRecord } from './administration.repository.js';

/** The operations on owners for operators. Each change is recorded, as those of API keys are. */
export class OwnerAdministration {
  constructor(private readonly repository: AdministrationRepository) {}

  /** Returns all owners in the order of their names. */
  list(): Promise<OwnerRecord[]> {
    return this.repository.listOwners();
  }

  /** @throws AdministrationError if the owner does not exist */
  get(name: string): Promise<OwnerRecord> {
    return this.repository.getOwner(name);
  }

  /**
   * Changes the owner's plan. Requests that the active windows have counted stay counted.
   *
   * @throws AdministrationError if the owner does not exist
   */
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
