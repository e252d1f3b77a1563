import { Injectable } from '@nestjs/common';
import { EntityManager } from 'typeorm';
import { listActions } from '../platform/access/administration/operator-actions.repository.js';
import { OwnerAdministration } from '../platform/access/administration/owner-administration.js';
import { countUpTo, parseInt64Argument } from '../platform/commands/arguments.js';
import { Command } from '../platform/commands/command.decorator.js';
import { Terminal } from '../platform/commands/terminal.js';
import { parseOwner } from './options.js';

const MAX_LISTED = 10_000;

@Injectable()
export class AuditCommands {
  constructor(
    private readonly manager: EntityManager,
    private readonly owners: OwnerAdministration,
    private readonly terminal: Terminal,
  ) {}

  @Command('list', 'list changes, the newest first', (command) =>
    command
      .option('--owner <name>', 'only changes of this owner and its API keys', parseOwner)
      .option(
        '--after <id>',
        'only changes after the one with this id in the list',
        parseInt64Argument,
      )
      .option('--limit <n>', `how many, at most ${MAX_LISTED}`, countUpTo(MAX_LISTED), 50),
  )
  async list({ owner, ...selection }: { owner?: string; after?: bigint; limit: number }) {
    const ownerId = owner === undefined ? null : (await this.owners.get(owner)).id;
    const listed = await listActions(this.manager, { ...selection, ownerId });
    if (listed.length === selection.limit) {
      this.terminal.note(`For older changes, add --after ${listed.at(-1)?.id}.`);
    }
    return listed;
  }
}
