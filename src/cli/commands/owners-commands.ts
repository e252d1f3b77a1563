import type { Command } from 'commander';
import type { OwnerRecord } from '../../platform/access/administration/owner-administration.js';
import { limitsOf } from '../../platform/access/owner.entity.js';
import type { Plan } from '../../platform/config/plans.js';
import { parseOwner } from './option-values.js';
import { addPlanOptions, type PlanOptions, storedPlan } from './plan-options.js';
import { readCounters, usageOf } from '../counters.js';
import { addCommand, addStoreAction } from '../store-command.js';

export function addOwnersCommands(program: Command): void {
  const owners = addCommand(
    program,
    'owners',
    'manage the owners of API keys and their plans',
    'owners list',
    'owners set-plan "City shelter" --plan business',
  );
  addList(owners);
  addSetPlan(owners);
  addUsage(owners);
}

function addList(owners: Command): void {
  const command = addCommand(owners, 'list', 'list owners', 'owners list', 'owners list --json');
  addStoreAction(command, async (store) => [(await store.owners.list()).map(ownerJson)]);
}

function addSetPlan(owners: Command): void {
  const command = addCommand(
    owners,
    'set-plan',
    "change the owner's plan",
    'owners set-plan "City shelter" --plan business',
    'owners set-plan Importer --plan enterprise --per-minute 5000 --per-day 1000000',
  ).argument('<name>', 'the name of the owner', parseOwner);
  addPlanOptions(command, { required: true });
  type Options = PlanOptions & { plan: Plan };
  addStoreAction(command, async (store, name: string, { plan, ...limits }: Options) => {
    const owner = await store.owners.setPlan(name, storedPlan(plan, limits));
    return [ownerJson(owner)];
  });
}

function addUsage(owners: Command): void {
  const command = addCommand(
    owners,
    'usage',
    'show how many requests the owner has used in the running minute and day',
    'owners usage "City shelter"',
    'owners usage "City shelter" --json',
  ).argument('<name>', 'the name of the owner', parseOwner);
  addStoreAction(command, async (store, name: string) => {
    const owner = await store.owners.get(name);
    // No API key has the id 0, so this reads no ban.
    const noKey = { firstKeyId: 0n, unbanCount: 0 };
    const key = { ...owner, ...noKey, ownerId: owner.id, limits: limitsOf(owner) };
    const { decisions = [], problem } = await readCounters([key]);
    if (problem !== undefined) throw new Error(problem);
    const [windows = {}] = decisions.map(usageOf);
    return [{ owner: owner.name, plan: owner.plan, ...windows }];
  });
}

function ownerJson(owner: OwnerRecord) {
  const { id, name, plan, activeKeys, createdAt } = owner;
  const { perMinute, perDay } = limitsOf(owner);
  return { id, name, plan, perMinute, perDay, activeKeys, createdAt };
}
