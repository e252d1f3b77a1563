import type { Command } from 'commander';
import type { Owner } from '../../platform/access/owner.entity.js';
import { limitsOf, type Plan } from '../../platform/config/plans.js';
import type {
  BudgetKey,
  QuotaState,
  RateLimitDecision,
} from '../../platform/rate-limit/limit-storage.js';
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

  addCommand(owners, 'usage', 'show the requests used', async (store, name?: string) => {
    const selected =
      name === undefined ? await store.owners.list() : [await store.owners.get(name)];
    const { decisions, problem } = await readCounters(selected.map(budgetKey));
    if (problem !== undefined) throw new Error(problem);
    const usages = selected.map((owner, index) => usageJson(owner, decisions[index]));
    usages.sort((a, b) => b.day.used - a.day.used || b.minute.used - a.minute.used);
    return [name === undefined ? usages : (usages[0] ?? {})];
  }).argument('[name]', 'the name of the owner (default: all, the most used first)', parseOwner);
}

function budgetKey(owner: Owner): BudgetKey {
  // No API key has the id 0, so this reads no ban.
  return { ownerId: owner.id, limits: limitsOf(owner), firstKeyId: 0n, unbanCount: 0 };
}

function usageJson({ name, plan }: Owner, decision: RateLimitDecision | undefined) {
  const windowJson = (index: number) => {
    const { quota, used, endsAtMs } = decision?.windows[index] as QuotaState;
    const remaining = Math.max(0, quota.limit - used);
    // null: the window starts with the next request.
    return { used, limit: quota.limit, remaining, resetsAt: used > 0 ? new Date(endsAtMs) : null };
  };
  return { owner: name, plan, minute: windowJson(0), day: windowJson(1) };
}

function ownerJson(owner: Owner) {
  const { id, name, plan, createdAt } = owner;
  return { id, name, plan, ...limitsOf(owner), createdAt };
}
