import type { Command } from 'commander';
import type { OwnerRecord } from '../../auth/administration/administration.repository.js';
import { limitsOf } from '../../auth/plan.js';
import type { Plan } from '../../config/plans.js';
import { parseOwner } from './option-values.js';
import { addPlanOptions, type PlanOptions, storedPlan } from './plan-options.js';
import { CommandError } from '../command-error.js';
import { addExamples } from '../command-options.js';
import { readCounters, usageOf } from '../counters.js';
import { addStoreAction } from '../store-command.js';
import { textTable } from '../text-table.js';

/** Adds `owners` and its commands. */
export function addOwnersCommands(program: Command): void {
  const owners = program
    .command('owners')
    .description('manage the owners of API keys and their plans');
  addExamples(owners, 'owners list', 'owners set-plan "City shelter" --plan business');
  addList(owners);
  addSetPlan(owners);
  addUsage(owners);
}

function addList(owners: Command): void {
  const command = owners.command('list').description('list owners');
  addExamples(command, 'owners list', 'owners list --json');
  addStoreAction(command, async (store) => {
    const records = await store.owners.list();
    return [records.map(ownerJson), ownersText(records)];
  });
}

function addSetPlan(owners: Command): void {
  const command = owners
    .command('set-plan')
    .description("change the owner's plan")
    .argument('<name>', 'the name of the owner', parseOwner);
  addPlanOptions(command, { required: true });
  addExamples(
    command,
    'owners set-plan "City shelter" --plan business',
    'owners set-plan Importer --plan enterprise --per-minute 5000 --per-day 1000000',
  );
  type Options = PlanOptions & { plan: Plan };
  addStoreAction(command, async (store, name: string, { plan, ...limits }: Options) => {
    const owner = await store.owners.setPlan(name, storedPlan(plan, limits));
    return [ownerJson(owner), ownersText([owner])];
  });
}

function addUsage(owners: Command): void {
  const command = owners
    .command('usage')
    .description('show how many requests the owner has used in the running minute and day')
    .argument('<name>', 'the name of the owner', parseOwner);
  addExamples(command, 'owners usage "City shelter"', 'owners usage "City shelter" --json');
  addStoreAction(command, async (store, name: string) => {
    const owner = await store.owners.get(name);
    // No API key has the id 0, so this reads no ban.
    const key = {
      ...owner,
      ownerId: owner.id,
      limits: limitsOf(owner),
      firstKeyId: 0n,
      unbanCount: 0,
    };
    const counters = await readCounters([key]);
    if (typeof counters === 'string') throw new CommandError(counters);
    const [windows = {}] = counters.map(usageOf);
    const rows = Object.entries(windows).map(([window, { used, limit, remaining, resetsAt }]) => [
      window,
      used,
      limit,
      remaining,
      resetsAt,
    ]);
    const text = textTable(['WINDOW', 'USED', 'LIMIT', 'REMAINING', 'RESETS'], rows);
    return [{ owner: owner.name, plan: owner.plan, ...windows }, text];
  });
}

function ownerJson(owner: OwnerRecord) {
  const { id, name, plan, activeKeys, createdAt } = owner;
  const { perMinute, perDay } = limitsOf(owner);
  return { id, name, plan, perMinute, perDay, activeKeys, createdAt };
}

function ownersText(owners: readonly OwnerRecord[]): string {
  if (owners.length === 0) return 'There are no owners.\n';
  return textTable(
    ['ID', 'NAME', 'PLAN', 'PER MINUTE', 'PER DAY', 'ACTIVE KEYS', 'CREATED'],
    owners.map((owner) => Object.values(ownerJson(owner))),
  );
}
