import type { Command } from 'commander';
import type { OwnerRecord } from '../../auth/administration/administration.repository.js';
import { limitsOf } from '../../auth/administration/plan-choice.js';
import { parseOwner } from './option-values.js';
import { type OutputOptions, printResult } from '../output.js';
import { addPlanOptions, chosenPlan, type PlanOptions } from './plan-options.js';
import { addJsonOption, onStore } from '../store-command.js';
import { textTable } from '../text-table.js';

/** Adds `owners` and its commands. */
export function addOwnersCommands(program: Command): void {
  const owners = program
    .command('owners')
    .description('manage the owners of API keys and their plans');
  addList(owners);
  addSetPlan(owners);
}

function addList(owners: Command): void {
  const command = owners.command('list').description('list owners');
  addJsonOption(command).action(async (options: OutputOptions) => {
    await onStore(async ({ owners: administration }) => {
      const records = await administration.list();
      await printResult(options, records.map(ownerJson), ownersText(records));
    });
  });
}

function addSetPlan(owners: Command): void {
  const command = owners
    .command('set-plan')
    .description("change the owner's plan")
    .argument('<name>', 'the name of the owner', parseOwner);
  addPlanOptions(command, { required: true });
  addJsonOption(command).action(async (name: string, options: OutputOptions & PlanOptions) => {
    const plan = chosenPlan(command, options);
    if (!plan) return;
    await onStore(async ({ owners: administration }) => {
      const owner = await administration.setPlan(name, plan);
      await printResult(options, ownerJson(owner), ownersText([owner]));
    });
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
    owners.map((owner) => {
      const { perMinute, perDay } = limitsOf(owner);
      return [
        owner.id,
        owner.name,
        owner.plan,
        perMinute,
        perDay,
        owner.activeKeys,
        owner.createdAt,
      ];
    }),
  );
}
