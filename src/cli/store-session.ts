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

/** Adding a batch of animals or analyzing a large table may take minutes. */
const STATEMENT_TIMEOUT_MS = 600_000;

/** What commands use. */
export interface Store {
  readonly keys: KeyAdministration;
  readonly owners: OwnerAdministration;
  readonly actions: OperatorActionsRepository;
  readonly database: EntityManager;
  readonly target: DatabaseTarget;
  /** Executes all pending migrations and records it. Returns their names, oldest first. */
  migrate(): Promise<string[]>;
}

export interface StoreOptions {
  /** Whether the command may create the embedded database. */
  create?: boolean;
  /** Whether migrations may be pending. */
  anySchema?: boolean;
}

/**
 * Runs the work on the store that the settings select, and closes it. The service may be running.
 * Prints which database it is. Migrates the embedded database first.
 *
 * @throws Error if there is none, if migrations of another database are pending, or if the
 *   embedded server was stopped
 */
export async function withStore(
  { create = false, anySchema = false }: StoreOptions,
  work: (store: Store) => Promise<void>,
): Promise<void> {
  const { database: settings, warnings } = new Settings();
  const target = databaseTarget(settings);
  if (!create && !(await databaseExists(settings))) {
    throw new Error(
      `There is no database in ${settings.dataDir}. Set DATABASE_URL, or run \`npm start\` first.`,
    );
  }
  console.error(`Database: ${target.description}`);
  for (const warning of warnings) console.error(warning);
  await withLocation(settings, async (location) => {
    const dataSource = new DataSource({
      ...dataSourceOptions(location.direct, settings, {
        applicationName: APPLICATION_NAMES.commands,
        statementTimeoutMs: STATEMENT_TIMEOUT_MS,
        poolSize: 1,
      }),
      entities: [ApiKey, KeySecret, Owner],
    });
    const { manager: database } = await dataSource.initialize();
    try {
      const store: Store = {
        keys: new KeyAdministration(database),
        owners: new OwnerAdministration(database),
        actions: new OperatorActionsRepository(database),
        database,
        target,
        migrate: () =>
          migrate(location, settings, (session, migrations) =>
            new OperatorActionsRepository(session).record('db migrate', { migrations }),
          ),
      };
      if (!anySchema && (await migrationStatus(database)).pending.length > 0) {
        if (!location.embedded || !settings.migrateOnStart) {
          throw new Error(
            'The schema of the database is not up to date. Run `pets db migrate` first.',
          );
        }
        await store.migrate();
      }
      await work(store);
    } finally {
      await dataSource.destroy();
    }
  });
}

/**
 * Opens the database for the work, and closes it. A signal ends the process, and stops an embedded
 * server that the command has started. Work that listens for the signal ends by itself.
 */
async function withLocation(
  settings: DatabaseSettings,
  work: (location: DatabaseLocation) => Promise<void>,
): Promise<void> {
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
    await work(location);
  } catch (error) {
    await location?.close();
    if (interrupted) exitAfter(interrupted);
    if (settings.url !== undefined || !isDisconnected(error)) throw error;
    throw new Error('The embedded database was stopped. Run the command again.', { cause: error });
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
