import type { Command } from 'commander';
import { addCommand, addStoreAction } from '../store-command.js';
import { countUpTo, parseLifetime, parseOwner } from './option-values.js';

const MAX_ACTIONS = 1_000_000;

/** Adds `audit` and its command. */
export function addAuditCommands(program: Command): void {
  const example = 'audit list --owner "City shelter"';
  const audit = addCommand(program, 'audit', 'show what operators changed', example);
  const list = addCommand(
    audit,
    'list',
    'list who changed what and when, newest first',
    'audit list --since 7d --limit 20',
    `${example} --json`,
  )
    .option('--owner <name>', 'only changes of this owner and its API keys', parseOwner)
    .option('--since <time>', 'only changes of this time until now, such as 7d', parseLifetime)
    .option('--limit <count>', 'at most this many changes', countUpTo(MAX_ACTIONS));
  interface Options {
    owner?: string;
    since?: number;
    limit?: number;
  }
  addStoreAction(list, async ({ actions }, { owner, since, limit }: Options) => [
    await actions.list({ owner, newerThanMs: since, limit }),
  ]);
}
