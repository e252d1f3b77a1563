import type { Command } from 'commander';
import type { Owner } from '../../platform/access/owner.entity.js';
import { limitsOf, type Plan } from '../../platform/config/plans.js';
import { addCommand } from '../command.js';
import { readCounters, usageOf } from '../counters.js';
import { addPlanOptions, parseOwner, type PlanOptions, storedPlan } from '../options.js';

export function addOwnersCommands(owners: Command): void {
  addCommand(owners, 'list', 'list owners', async (store) => [
    (await store.owners.list()).map(ownerJson),
  ]);

  const setPlan = addCommand(
    owners,
    'set-plan',
    "change the owner's plan",
    async (store, name: string, options: PlanOptions & { plan: Plan }) => [
      ownerJson(await store.owners.setPlan(name, storedPlan(options))),
    ],
  ).argument('<name>', 'the name of the owner', parseOwner);
  addPlanOptions(setPlan, { required: true });

  addCommand(
    owners,
    'usage',
    'show how many requests the owner has used in the running minute and day',
    async (store, name: string) => {
      const owner = await store.owners.get(name);
      // No API key has the id 0, so this reads no ban.
      const noKey = { firstKeyId: 0n, unbanCount: 0 };
      const key = { ...noKey, plan: owner.plan, ownerId: owner.id, limits: limitsOf(owner) };
      const { decisions = [], problem } = await readCounters([key]);
      if (problem !== undefined) throw new Error(problem);
      const [windows = {}] = decisions.map(usageOf);
      return [{ owner: owner.name, plan: owner.plan, ...windows }];
    },
  ).argument('<name>', 'the name of the owner', parseOwner);
}

function ownerJson(owner: Owner) {
  const { id, name, plan, createdAt } = owner;
  return { id, name, plan, ...limitsOf(owner), createdAt };
}
