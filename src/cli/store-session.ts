import { Settings } from '../config/settings.js';
import { type DatabaseLocation, locateDatabase } from '../database/database-location.js';
import { migrationStatus } from '../database/migration-status.js';
import { PlainConnection } from '../database/plain-connection.js';
import type { StatementRunner } from '../database/statement-runner.js';
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

/** As withDatabase, with a connection to it. */
export async function withConnection(
  work: (
    connection: PlainConnection,
    location: DatabaseLocation,
    settings: Settings,
  ) => Promise<void>,
): Promise<void> {
  await withDatabase(async (location, settings) => {
    const patient = Object.assign(Object.create(settings) as Settings, {
      databaseStatementTimeoutMs: STATEMENT_TIMEOUT_MS,
    });
    const connection = await PlainConnection.open(location.direct, patient);
    try {
      await work(connection, location, settings);
    } finally {
      await connection.close();
    }
  });
}

/**
 * As withConnection, on a schema that is up to date. The embedded database is brought up to date
 * first: its first user may be a command. Any other one is left to those who run it.
 *
 * @throws CommandError when the schema is behind
 */
export async function withStore(work: (database: StatementRunner) => Promise<void>): Promise<void> {
  await withConnection(async (connection, location, settings) => {
    const { pending } = await migrationStatus(connection);
    if (pending.length > 0) await bringUpToDate(location, settings);
    await work(connection);
  });
}

async function bringUpToDate(location: DatabaseLocation, settings: Settings): Promise<void> {
  if (!location.embedded || !settings.migrateOnStart) {
    throw new CommandError('the schema of the database is not up to date: run "db migrate" first');
  }
  // Loaded only now: TypeORM takes longer to load than most commands run.
  const { migrate } = await import('../database/migrate.js');
  await migrate(location, settings);
}
