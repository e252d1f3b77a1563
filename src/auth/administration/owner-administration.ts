import { AdministrationError } from './administration-error.js';
import type { AdministrationRepository, OwnerRecord } from './administration.repository.js';
import type { StoredPlan } from '../plan.js';
import { toOwnerName } from './owner-name.js';

/** The operations on owners for operators. Each change is recorded, as those of API keys are. */
export class OwnerAdministration {
  constructor(private readonly repository: AdministrationRepository) {}

  /** Returns all owners in the order of their names. */
  list(): Promise<OwnerRecord[]> {
    return this.repository.listOwners();
  }

  /** @throws AdministrationError if the owner does not exist */
  async get(owner: string): Promise<OwnerRecord> {
    const name = toOwnerName(owner);
    return (await this.repository.findOwner(name)) ?? throwMissing(name);
  }

  /**
   * Changes the owner's plan. Requests that the active windows have counted stay counted.
   *
   * @throws AdministrationError if the owner does not exist
   */
  async setPlan(owner: string, plan: StoredPlan): Promise<OwnerRecord> {
    const name = toOwnerName(owner);
    return this.repository.inTransaction(async (repository) => {
      const previousPlan = await repository.setPlan(name, plan);
      const changed = (await repository.findOwner(name)) ?? throwMissing(name);
      const details = { owner: name, previousPlan, ...plan };
      await repository.record('owners set-plan', changed.id, details);
      return changed;
    });
  }
}

function throwMissing(name: string): never {
  throw new AdministrationError(`The owner "${name}" does not exist.`);
}
