import type { Command } from 'commander';
import { addCommand, addStoreAction } from '../store-command.js';
import { parseOwner } from './option-values.js';

export function addAuditCommands(program: Command): void {
  const example = 'audit list --owner "City shelter"';
  const audit = addCommand(program, 'audit', 'show what operators changed', example);
  const list = addCommand(
    audit,
    'list',
    'list who changed what and when, newest first',
    'audit list',
    `${example} --json`,
  ).option('--owner <name>', 'only changes of this owner and its API keys', parseOwner);
  addStoreAction(list, async ({ actions }, { owner }: { owner?: string }) => [
    await actions.list(owner),
  ]);
}
