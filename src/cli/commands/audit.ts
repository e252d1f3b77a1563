import type { Command } from 'commander';
import { addCommand } from '../command.js';
import { type Options, parseOwner } from '../options.js';

export function addAuditCommands(audit: Command): void {
  addCommand(audit, 'list', 'list changes, newest first', async (store, { owner }: Options) => [
    await store.audit(owner),
  ]).option('--owner <name>', 'only changes of this owner and its API keys', parseOwner);
}
