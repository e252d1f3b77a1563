import { Module } from '@nestjs/common';
import { ClsModule } from 'nestjs-cls';
import { AdministrationModule } from '../platform/access/administration/administration.module.js';
import { DatabaseModule } from '../platform/database/database.module.js';
import { ProcessModule } from '../platform/process/process.module.js';
import { PLANS } from '../plans.js';
import { PRODUCT } from '../product.js';
import { AuditCommands } from './audit.commands.js';
import { DbCommands } from './db.commands.js';
import { KeysCommands } from './keys.commands.js';
import { OwnersCommands } from './owners.commands.js';

/**
 * The root module of the commands in this folder. They need no feature, and start faster without. For the
 * same reason, this folder imports files of the platform, not `#platform`: a command takes 1.6 times as long
 * if it loads that.
 */
@Module({
  imports: [
    ProcessModule.forRoot({ product: PRODUCT, plans: PLANS }),
    ClsModule,
    DatabaseModule,
    AdministrationModule,
  ],
  providers: [KeysCommands, OwnersCommands, AuditCommands, DbCommands],
})
export class CliModule {}
