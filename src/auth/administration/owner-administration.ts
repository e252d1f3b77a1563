import { AdministrationError } from './administration-error.js';
import type { AdministrationRepository, OwnerRecord } from './administration.repository.js';
import { toOwnerName } from './owner-name.js';
import { type PlanChoice, toStoredPlan } from './plan-choice.js';

/** The operations on owners for operators. Each change is recorded, as those of API keys are. */
export class OwnerAdministration {
  /** @param actor who makes the changes, as `user@host` */
  constructor(
    private readonly repository: AdministrationRepository,
    private readonly actor: string,
  ) {}

  /** Returns all owners in the order of their names. */
  list(): Promise<OwnerRecord[]> {
    return this.repository.listOwners();
  }

  /**
   * Changes the owner's plan. Requests that the active windows have counted stay counted.
   *
   * @throws AdministrationError if the owner does not exist
   */
  async setPlan(owner: string, choice: PlanChoice): Promise<OwnerRecord> {
    const name = toOwnerName(owner);
    const plan = toStoredPlan(choice);
    return this.repository.inTransaction(async (repository) => {
      const previousPlan = await repository.setPlan(name, plan);
      const changed = previousPlan === null ? null : await repository.findOwner(name);
      if (!changed) throw new AdministrationError(`The owner "${name}" does not exist.`);
      await repository.record({
        actor: this.actor,
        action: 'owners set-plan',
        ownerId: changed.id,
        details: { owner: name, previousPlan, ...plan },
      });
      return changed;
    });
  }
}
