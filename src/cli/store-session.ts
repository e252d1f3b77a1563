import { DataSource, type EntityManager } from 'typeorm';
import { Settings } from '../config/settings.js';
import { dataSourceOptions } from '../database/data-source-options.js';
import { type DatabaseLocation, locateDatabase } from '../database/database-location.js';
import { migrate, migrationStatus } from '../database/migrate.js';
import { CommandError } from './command-error.js';

/** An operator waits rather than tries again: a batch of animals, or statistics of a large table, take their time. */
const STATEMENT_TIMEOUT_MS = 600_000;

/**
 * Does the work on the database that the settings name, with the service running beside it or not,
 * and lets go of the database afterwards.
 *
 * @throws SettingError, EmbeddedDatabaseError, and what the work throws
 */
export async function withDatabase(
  work: (location: DatabaseLocation, settings: Settings) => Promise<void>,
): Promise<void> {
  const settings = new Settings();
  const location = await locateDatabase(settings, 'command');
  try {
    await work(location, settings);
  } finally {
    await location.close();
  }
}

/**
 * As withDatabase, with a connection, on a schema that is up to date. The embedded database is
 * brought up to date first: its first user may be a command. Any other one is left to those who run it.
 *
 * @throws CommandError when the schema is behind
 */
export async function withStore(work: (manager: EntityManager) => Promise<void>): Promise<void> {
  await withDatabase(async (location, settings) => {
    await ensureSchema(location, settings);
    const patient = Object.assign(Object.create(settings) as Settings, {
      databaseStatementTimeoutMs: STATEMENT_TIMEOUT_MS,
    });
    const dataSource = new DataSource(dataSourceOptions(location.direct, patient, { poolSize: 1 }));
    await dataSource.initialize();
    try {
      await work(dataSource.manager);
    } finally {
      await dataSource.destroy();
    }
  });
}

async function ensureSchema(location: DatabaseLocation, settings: Settings): Promise<void> {
  const { pending } = await migrationStatus(location, settings);
  if (pending.length === 0) return;
  if (!location.embedded || !settings.migrateOnStart) {
    throw new CommandError('the schema of the database is not up to date: run "db migrate" first');
  }
  await migrate(location, settings);
}
