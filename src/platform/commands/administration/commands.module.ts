import { Module, type Type } from '@nestjs/common';
import { ClsModule } from 'nestjs-cls';
import { AdministrationModule } from '../../access/administration/administration.module.js';
import { DatabaseModule } from '../../database/database.module.js';
import { ProcessModule } from '../../process/process.module.js';
import { Terminal } from '../terminal.js';
import type { StoreOptions } from '../../config/product.js';
import { Counters } from './counters.js';
import { AuditCommands } from './audit.commands.js';
import { DbCommands } from './db.commands.js';
import { KeysCommands } from './keys.commands.js';
import { OwnersCommands } from './owners.commands.js';

/** Returns the root module of the commands in this folder. They need no feature, and start faster without. */
export function commandsModule(store: StoreOptions): Type {
  @Module({
    imports: [ProcessModule.forRoot(store), ClsModule, DatabaseModule, AdministrationModule],
    providers: [Terminal, Counters, KeysCommands, OwnersCommands, AuditCommands, DbCommands],
  })
  class CommandsModule {}
  return CommandsModule;
}
