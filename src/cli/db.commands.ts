import { Injectable } from '@nestjs/common';
import { recordAction } from '../platform/access/administration/operator-actions.repository.js';
import { Command } from '../platform/commands/command.decorator.js';
import { Operator } from '../platform/commands/operator.js';
import { Settings } from '../platform/config/settings.js';
import { findDemo } from '../platform/demo/demo-owner.js';
import { copyTables } from '../platform/database/copy/copy-tables.js';
import { DatabaseLocation } from '../platform/database/database-location.js';
import { hasCluster } from '../platform/database/embedded/cluster.js';
import { migrationStatus, withDataSource } from '../platform/database/schema/migrate.js';
import { migrateAsOperator, openDatabase } from './application.js';

@Injectable()
export class DbCommands {
  constructor(
    private readonly location: DatabaseLocation,
    private readonly settings: Settings,
    private readonly operator: Operator,
  ) {}

  @Command('migrate', 'execute all pending migrations', undefined, {
    createsDatabase: true,
    anySchema: true,
  })
  async migrate() {
    return { executed: await migrateAsOperator(this.location, this.settings.database) };
  }

  @Command(
    'status',
    'list the executed migrations, newest first, and the pending ones',
    undefined,
    {
      anySchema: true,
    },
  )
  status() {
    return withDataSource(this.location, this.settings.database, migrationStatus);
  }

  @Command(
    'copy-embedded',
    'copy the embedded database of DATA_DIR to the empty one of DATABASE_URL',
  )
  async copyEmbedded() {
    const { location } = this;
    const { database } = this.settings;
    if (location.embedded) throw new Error('Set DATABASE_URL to the database to copy to.');
    if (!hasCluster(database.dataDir)) {
      throw new Error(`There is no database in ${database.dataDir}. Set DATA_DIR.`);
    }
    const embedded = await openDatabase({ ...database, connection: undefined });
    this.operator.note('Not copied: the demo owner and its API keys.');
    return withDataSource(embedded, database, (source) =>
      withDataSource(location, database, (target) =>
        copyTables(
          { description: embedded.description, dataSource: source },
          { description: location.description, dataSource: target },
          findDemo,
          (session, details) => recordAction(session, 'db copy-embedded', details),
        ),
      ),
    );
  }
}
