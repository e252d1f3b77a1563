import { Injectable } from '@nestjs/common';
import { EntityManager } from 'typeorm';
import { listActions } from '../platform/access/administration/operator-actions.repository.js';
import { OwnerAdministration } from '../platform/access/administration/owner-administration.js';
import { Command } from '../platform/commands/command.decorator.js';
import { type Options, parseOwner } from './options.js';

@Injectable()
export class AuditCommands {
  constructor(
    private readonly manager: EntityManager,
    private readonly owners: OwnerAdministration,
  ) {}

  @Command('list', 'list changes, newest first', (command) =>
    command.option('--owner <name>', 'only changes of this owner and its API keys', parseOwner),
  )
  async list({ owner }: Options) {
    const ownerId = owner === undefined ? null : (await this.owners.get(owner)).id;
    return listActions(this.manager, ownerId);
  }
}
