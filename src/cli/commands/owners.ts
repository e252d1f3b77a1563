import type { Command } from 'commander';
import type { Owner } from '../../platform/access/owner.entity.js';
import { limitsOf, type Plan } from '../../platform/config/plans.js';
import { addCommand } from '../command.js';
import { readCounters } from '../counters.js';
import { addPlanOptions, parseOwner, type Options, storedPlan } from '../options.js';

export function addOwnersCommands(owners: Command): void {
  addCommand(owners, 'list', 'list owners', async (store) => [
    (await store.owners.list()).map(ownerJson),
  ]);

  const setPlan = addCommand(
    owners,
    'set-plan',
    "change the owner's plan",
    async (store, name: string, options: Options & { plan: Plan }) => [
      ownerJson(await store.owners.setPlan(name, storedPlan(options))),
    ],
  ).argument('<name>', 'the name of the owner', parseOwner);
  addPlanOptions(setPlan, { required: true });

  addCommand(owners, 'rename', 'rename an owner', async (store, name: string, newName: string) => [
    ownerJson(await store.owners.rename(name, newName)),
  ])
    .argument('<name>', 'the name of the owner', parseOwner)
    .argument('<new>', 'the new name', parseOwner);

  addCommand(owners, 'usage', 'show the requests used', async (store, name: string) => {
    const { id: ownerId, plan, ...owner } = await store.owners.get(name);
    // No API key has the id 0, so this reads no ban.
    const noKey = { firstKeyId: 0n, unbanCount: 0 };
    const key = { ...noKey, ownerId, limits: limitsOf({ ...owner, plan }) };
    const { decisions = [], problem } = await readCounters([key]);
    if (problem !== undefined) throw new Error(problem);
    const usage: Record<string, unknown> = { owner: name, plan };
    for (const { quota, used, endsAtMs } of decisions[0]?.windows ?? []) {
      const { limit } = quota;
      // null: the window starts with the next request.
      const resetsAt = used > 0 ? new Date(endsAtMs) : null;
      usage[quota.name] = { used, limit, remaining: Math.max(0, limit - used), resetsAt };
    }
    return [usage];
  }).argument('<name>', 'the name of the owner', parseOwner);
}

function ownerJson(owner: Owner) {
  const { id, name, plan, createdAt } = owner;
  return { id, name, plan, ...limitsOf(owner), createdAt };
}
