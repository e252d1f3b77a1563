import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Injectable } from '@nestjs/common';
import { DataSource, type NamingStrategyInterface } from 'typeorm';
import { recordAction } from '../../access/administration/operator-actions.repository.js';
import { Command } from '../command.decorator.js';
import { Terminal } from '../terminal.js';
import { Clock } from '../../config/clock.js';
import { Settings } from '../../config/settings.js';
import { findDemo } from '../../access/administration/demo-owner.js';
import { copyTables } from '../../database/copy/copy-tables.js';
import { DatabaseLocation } from '../../database/database-location.js';
import { hasCluster } from '../../database/embedded/cluster.js';
import { nextMigrationNumber } from '../../database/schema/migration-files.js';
import { migrationStatus, withDataSource } from '../../database/schema/migrate.js';
import { migrateAsOperator, openDatabase } from '../application.js';
import { parseMigrationPath } from './options.js';

/** In the folder of the product. Only a checkout has it. */
const GENERATOR = 'scripts/generate-migration.mjs';

type Differences = Record<'statements' | 'notes' | 'problems', string[]>;

interface Generator {
  findDifferences: (dataSource: DataSource) => Promise<Differences>;
  SchemaNames: new () => NamingStrategyInterface;
  writeMigration: (path: string, number: number, statements: string[]) => string;
}

@Injectable()
export class DbCommands {
  constructor(
    private readonly location: DatabaseLocation,
    private readonly settings: Settings,
    private readonly terminal: Terminal,
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
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
    'generate',
    'write a migration from the difference between the entities and the database',
    (command) =>
      command.argument(
        '<path>',
        'the new file without number and ending: src/toys/migrations/add-colour',
        parseMigrationPath,
      ),
    { createsDatabase: true, needsEntities: true },
  )
  async generate(path: string) {
    const { entities = [] } = this.dataSource.options;
    const generator = join(this.settings.product.folder, GENERATOR);
    if (!existsSync(generator))
      throw new Error('db generate works only in a checkout of the project.');
    const { findDifferences, SchemaNames, writeMigration } = (await import(
      pathToFileURL(generator).href
    )) as Generator;
    const { statements, notes, problems } = await withDataSource(
      this.location,
      this.settings.database,
      findDifferences,
      { entities, namingStrategy: new SchemaNames() },
    );
    if (problems.length > 0) throw new Error(problems.join('\n'));
    notes.forEach((note) => this.terminal.note(note));
    if (statements.length === 0) {
      const names = this.dataSource.entityMetadatas.map(({ name }) => name).join(', ');
      this.terminal.note(
        `Nothing to do: the tables are as the entities declare them (${names}). The module of a feature registers its entities with TypeOrmModule.forFeature().`,
      );
      return { file: null };
    }
    const number = await nextMigrationNumber(this.settings.database.codeFolder, this.clock.now());
    return { file: writeMigration(path, number, statements) };
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
    const { rows, left } = await withDataSource(embedded, database, (source) =>
      withDataSource(location, database, (target) =>
        copyTables(
          { description: embedded.description, dataSource: source },
          { description: location.description, dataSource: target },
          findDemo,
          (session, details) => recordAction(session, 'db copy-embedded', details),
        ),
      ),
    );
    const counts = Object.entries(left).map(([table, count]) => `${table} ${count}`);
    if (counts.length > 0) {
      const why = 'They are the demo owner, its API keys, and rows that refer to them';
      this.terminal.note(`Rows that were not copied: ${counts.join(', ')}. ${why}.`);
    }
    return rows;
  }
}
