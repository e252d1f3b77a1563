import { Module } from '@nestjs/common';
import { AdministrationModule } from '../../access/administration/administration.module.js';
import { RowFiles } from './row-files.js';

/** Files of rows. A module that injects RowFiles imports it. */
@Module({ imports: [AdministrationModule], providers: [RowFiles], exports: [RowFiles] })
export class FilesModule {}
