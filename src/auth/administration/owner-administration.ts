import { AdministrationError } from './administration-error.js';
import type { AdministrationRepository, OwnerRecord } from './administration.repository.js';
import { toOwnerName } from './owner-name.js';
import { type PlanChoice, toStoredPlan } from './plan-choice.js';

/** What operators do with owners; changes are kept as those of keys are. */
export class OwnerAdministration {
  /** @param actor whose changes they are, as `user@host` */
  constructor(
    private readonly repository: AdministrationRepository,
    private readonly actor: string,
  ) {}

  /** Returns all owners, by name. */
  list(): Promise<OwnerRecord[]> {
    return this.repository.listOwners();
  }

  /**
   * Gives an owner a plan. What it has used in the running windows stays counted.
   *
   * @throws AdministrationError when there is no such owner
   */
  async setPlan(owner: string, choice: PlanChoice): Promise<OwnerRecord> {
    const name = toOwnerName(owner);
    const plan = toStoredPlan(choice);
    return this.repository.inTransaction(async (repository) => {
      const previousPlan = await repository.setPlan(name, plan);
      const changed = previousPlan === null ? null : await repository.findOwner(name);
      if (!changed) throw new AdministrationError(`there is no owner "${name}"`);
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
