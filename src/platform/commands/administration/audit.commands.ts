import { Injectable } from '@nestjs/common';
import { EntityManager } from 'typeorm';
import {
  type ActionSelection,
  listActions,
} from '../../access/administration/operator-actions.repository.js';
import { OwnerAdministration } from '../../access/administration/owner-administration.js';
import { countUpTo, parseInt64Argument } from '../arguments.js';
import { Command } from '../command.decorator.js';
import { Terminal } from '../terminal.js';
import { changeText } from './audit-text.js';
import { ownerOf, parseSince, parseUntil } from './options.js';

const MAX_LISTED = 10_000;

@Injectable()
export class AuditCommands {
  constructor(
    private readonly manager: EntityManager,
    private readonly owners: OwnerAdministration,
    private readonly terminal: Terminal,
  ) {}

  @Command(
    'list',
    'list changes, the newest first',
    (command, { product }) =>
      command
        .option('--owner <name>', 'only changes of this owner and its API keys', ownerOf(product))
        .option('--since <time>', 'a UTC day, or a time such as 2026-11-26T10:00Z', parseSince)
        .option('--until <time>', 'the same; a day is included', parseUntil)
        .option('--actor <name>', 'only changes of this user, or of user@host')
        .option('--action <name>', 'only this command, such as "keys revoke" or keys')
        .option('--id <id>', 'only changes of the row with this id', parseInt64Argument)
        .option(
          '--after <id>',
          'only changes after the one with this id in the list',
          parseInt64Argument,
        )
        .option('--limit <n>', `how many, at most ${MAX_LISTED}`, countUpTo(MAX_LISTED), 50),
    { asText: inWords },
  )
  async list({ owner, ...selection }: { owner?: string } & Omit<ActionSelection, 'ownerId'>) {
    const ownerId = owner === undefined ? null : (await this.owners.get(owner)).id;
    const listed = await listActions(this.manager, { ...selection, ownerId });
    if (listed.length === selection.limit) {
      this.terminal.note(`For older changes, add --after ${listed.at(-1)?.id}.`);
    }
    return listed;
  }
}

type Actions = Awaited<ReturnType<typeof listActions>>;

function inWords(actions: Actions): object {
  return actions.map(({ id, performedAt, actor, owner, action, details }) => {
    // Tables do not shorten a list as much as a text.
    const change = [changeText(action, details)];
    return { id, performedAt: [performedAt], actor, owner, change };
  });
}
