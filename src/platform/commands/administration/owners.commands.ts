import { Injectable } from '@nestjs/common';
import { OwnerAdministration } from '../../access/administration/owner-administration.js';
import type { Owner } from '../../access/owner.entity.js';
import { YES_OPTION } from '../arguments.js';
import { Command } from '../command.decorator.js';
import { Terminal } from '../terminal.js';
import { Plans } from '../../config/plan-limits.js';
import type { QuotaState, RateLimitDecision } from '../../rate-limit/limit-storage.js';
import { Counters } from './counters.js';
import { csvOption, csvText } from './csv.js';
import { addPlanOptions, type Options, ownerOf, storedPlan } from './options.js';
import { timeText } from '../table.js';

/** The columns of `owners usage --csv`. */
const WINDOWS = [
  'owner',
  'plan',
  'minuteUsed',
  'minuteLimit',
  'minuteResetsAt',
  'dayUsed',
  'dayLimit',
  'dayResetsAt',
];

@Injectable()
export class OwnersCommands {
  constructor(
    private readonly owners: OwnerAdministration,
    private readonly plans: Plans,
    private readonly terminal: Terminal,
    private readonly counters: Counters,
  ) {}

  @Command('list', 'list owners')
  async list() {
    return (await this.owners.list()).map((owner) => this.shownOwner(owner));
  }

  @Command(
    'set-plan',
    "change the owner's plan",
    (command, { product, plans }) => {
      command.argument('<name>', 'the name of the owner', ownerOf(product));
      addPlanOptions(command, plans, { required: true });
    },
    { effect: 'changed' },
  )
  async setPlan(name: string, options: Options & { plan: string }) {
    return this.shownOwner(await this.owners.setPlan(name, storedPlan(options)));
  }

  @Command(
    'rename',
    'rename an owner',
    (command, { product }) =>
      command
        .argument('<name>', 'the name of the owner', ownerOf(product))
        .argument('<new>', 'the new name', ownerOf(product)),
    { effect: 'changed' },
  )
  async rename(name: string, newName: string) {
    return this.shownOwner(await this.owners.rename(name, newName));
  }

  @Command(
    'remove',
    'remove an owner whose API keys are revoked or were never used',
    (command, { product }) =>
      command.argument('<name>', 'the name of the owner', ownerOf(product)).option(...YES_OPTION),
    { effect: 'changed' },
  )
  async remove(name: string, options: Options) {
    const unused = await this.owners.findUnusedKeys(name);
    const keys = unused.map(({ id }) => id).join(', ');
    const revokes = keys && ` and revokes its unused API keys ${keys}`;
    const { description } = this.terminal.database;
    const effect = `This removes the owner "${name}" from ${description}${revokes}. Its usage and the audit trail stay. It cannot be undone.`;
    await this.terminal.confirm(effect, options, true);
    return this.owners.remove(name);
  }

  @Command(
    'usage',
    'show the requests of the current minute and day, and their limits',
    (command, { product }) =>
      command
        .argument(
          '[name]',
          'the name of the owner (default: all, the most used first)',
          ownerOf(product),
        )
        .addOption(csvOption()),
    { asText: usageText },
  )
  async usage(name?: string, { csv }: Options = {}) {
    const selected = name === undefined ? await this.owners.list() : [await this.owners.get(name)];
    const { decisions, problem } = await this.counters.read(
      // No API key has the id 0, so this reads no ban.
      selected.map((owner) => ({ ownerId: owner.id, owner, firstKeyId: 0n, unbanCount: 0 })),
    );
    if (problem !== undefined) throw new Error(problem);
    const usages = selected.map((owner, index) => shownUsage(owner, decisions[index]));
    usages.sort((a, b) => b.day.used - a.day.used || b.minute.used - a.minute.used);
    if (csv) return csvText(WINDOWS, usages.map(windowsOf));
    return name === undefined ? usages : (usages[0] ?? {});
  }

  /** Also works for an owner whose plan the store does not have, so that the plan can be changed. */
  private shownOwner(owner: Owner) {
    const { id, name, plan, createdAt } = owner;
    const { perMinute = null, perDay = null } = this.plans.findLimits(owner) ?? {};
    return { id, name, plan, perMinute, perDay, createdAt };
  }
}

function shownUsage({ name, plan }: Owner, decision: RateLimitDecision | undefined) {
  const shownWindow = (index: number) => {
    const { quota, used, endsAtMs } = decision?.windows[index] as QuotaState;
    const remaining = Math.max(0, quota.limit - used);
    // null: the window starts with the next request.
    return { used, limit: quota.limit, remaining, resetsAt: used > 0 ? new Date(endsAtMs) : null };
  };
  return { owner: name, plan, minute: shownWindow(0), day: shownWindow(1) };
}

type Usage = ReturnType<typeof shownUsage>;

function windowsOf({ owner, plan, minute, day }: Usage) {
  const ofMinute = { minuteUsed: minute.used, minuteLimit: minute.limit };
  const ofDay = { dayUsed: day.used, dayLimit: day.limit };
  const resets = { minuteResetsAt: minute.resetsAt, dayResetsAt: day.resetsAt };
  return { owner, plan, ...ofMinute, ...ofDay, ...resets };
}

/** Returns the windows of a list as `3 of 5`, and those of one owner also with their resets. */
function usageText(usages: Usage | readonly Usage[]): object {
  const used = (window: Usage['day']) => `${window.used} of ${window.limit}`;
  if (usages instanceof Array)
    return usages.map((usage) => ({ ...usage, minute: used(usage.minute), day: used(usage.day) }));
  const { minute, day, ...owner } = usages;
  const withReset = (window: Usage['day']) => {
    const { resetsAt } = window;
    const reset = resetsAt ? `resets at ${timeText(resetsAt)}` : 'starts with the next request';
    return `${used(window)}, ${reset}`;
  };
  return { ...owner, minute: withReset(minute), day: withReset(day) };
}
