import type { Command } from 'commander';
import { addCommand } from '../command.js';
import { parseOwner } from '../options.js';

export function addAuditCommands(audit: Command): void {
  addCommand(
    audit,
    'list',
    'list who changed what and when, newest first',
    async ({ audit }, { owner }: { owner?: string }) => [await audit(owner)],
  ).option('--owner <name>', 'only changes of this owner and its API keys', parseOwner);
}
