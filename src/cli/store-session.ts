import { constants } from 'node:os';
import { DataSource, type EntityManager } from 'typeorm';
import { ApiKey } from '../platform/access/api-key.entity.js';
import { KeyAdministration } from '../platform/access/administration/key-administration.js';
import { OperatorActionsRepository } from '../platform/access/administration/operator-actions.repository.js';
import { OwnerAdministration } from '../platform/access/administration/owner-administration.js';
import { KeySecret } from '../platform/access/key-cache/key-secret.entity.js';
import { Owner } from '../platform/access/owner.entity.js';
import type { DatabaseSettings } from '../platform/config/database-settings.js';
import { Settings } from '../platform/config/settings.js';
import { isUnavailable } from '../platform/database/database-errors.js';
import { dataSourceOptions } from '../platform/database/data-source-options.js';
import {
  databaseExists,
  type DatabaseLocation,
  locateDatabase,
} from '../platform/database/database-location.js';
import { type DatabaseTarget, databaseTarget } from '../platform/database/database-target.js';
import { migrate } from '../platform/database/schema/migrate.js';
import { migrationStatus } from '../platform/database/schema/migration-status.js';
import { APPLICATION_NAMES } from '../platform/database/pools/client-config.js';
import { CommandError } from './command-error.js';

/** Adding a batch of animals or analyzing a large table may take minutes. */
const STATEMENT_TIMEOUT_MS = 600_000;

/** The database of a command. */
interface CommandDatabase {
  readonly settings: DatabaseSettings;
  readonly target: DatabaseTarget;
  readonly location: DatabaseLocation;
}

/** What commands on the store use. */
export interface Store {
  readonly keys: KeyAdministration;
  readonly owners: OwnerAdministration;
  readonly actions: OperatorActionsRepository;
  readonly database: EntityManager;
  readonly target: DatabaseTarget;
}

export interface DatabaseOptions {
  /** Whether the command may create the embedded database. */
  create?: boolean;
}

/**
 * Runs the work on the database that the settings select, and closes the database. The service may
 * be running. Prints which database it is. A signal ends the process, and stops an embedded server
 * that the command has started. Work that listens for the signal ends by itself.
 *
 * @throws CommandError if there is no database, or the embedded server was stopped
 */
export async function withDatabase(
  { create = false }: DatabaseOptions,
  work: (database: CommandDatabase) => Promise<void>,
): Promise<void> {
  const { database: settings } = new Settings();
  const target = databaseTarget(settings);
  if (!create && !(await databaseExists(settings))) {
    throw new CommandError(
      `There is no database in ${settings.dataDir}. Set DATABASE_URL, or run \`npm start\` first.`,
    );
  }
  console.error(`Database: ${target.description}`);
  const opening = new AbortController();
  let location: DatabaseLocation | undefined;
  let interrupted: NodeJS.Signals | undefined;
  const interrupt = (name: NodeJS.Signals): void => {
    if (process.listenerCount(name) > 1) return;
    interrupted = name;
    opening.abort();
    void location?.close().then(() => exitAfter(name));
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  try {
    location = await locateDatabase(settings, 'command', { signal: opening.signal });
    await work({ settings, target, location });
  } catch (error) {
    await location?.close();
    if (interrupted) exitAfter(interrupted);
    if (!target.embedded || !isDisconnected(error)) throw error;
    throw new CommandError('The embedded database was stopped. Run the command again.');
  } finally {
    await location?.close();
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

/** Ends the process as a shell reports it. */
function exitAfter(signal: NodeJS.Signals): never {
  return process.exit(128 + constants.signals[signal]);
}

/** Whether the server was stopped, or its connection broke. */
function isDisconnected(error: unknown): boolean {
  return isUnavailable(error) && /^(?:57P|E|$)/.test((error as { code?: string }).code ?? '');
}

/** Like withDatabase, with a connection. */
export async function withConnection(
  options: DatabaseOptions,
  work: (connection: EntityManager, database: CommandDatabase) => Promise<void>,
): Promise<void> {
  await withDatabase(options, async (database) => {
    const { location, settings } = database;
    const dataSource = new DataSource({
      ...dataSourceOptions(location.direct, settings, {
        applicationName: APPLICATION_NAMES.commands,
        statementTimeoutMs: STATEMENT_TIMEOUT_MS,
        poolSize: 1,
      }),
      entities: [ApiKey, KeySecret, Owner],
    });
    await dataSource.initialize();
    try {
      await work(dataSource.manager, database);
    } finally {
      await dataSource.destroy();
    }
  });
}

/**
 * Like withConnection, with a current schema. Migrates the embedded database first. @throws
 * CommandError if migrations of another database are pending
 */
export async function withStore(
  options: DatabaseOptions,
  work: (store: Store) => Promise<void>,
): Promise<void> {
  await withConnection(options, async (connection, database) => {
    const { pending } = await migrationStatus(connection);
    if (pending.length > 0) {
      if (!database.location.embedded || !database.settings.migrateOnStart) {
        throw new CommandError(
          'The schema of the database is not up to date. Run `pets db migrate` first.',
        );
      }
      await migrateDatabase(database);
    }
    await work({
      keys: new KeyAdministration(connection),
      owners: new OwnerAdministration(connection),
      actions: new OperatorActionsRepository(connection),
      database: connection,
      target: database.target,
    });
  });
}

/** Executes all pending migrations and records it. Returns their names, oldest first. */
export async function migrateDatabase({ location, settings }: CommandDatabase): Promise<string[]> {
  return migrate(location, settings, (database, migrations) =>
    new OperatorActionsRepository(database).record('db migrate', { migrations }),
  );
}
