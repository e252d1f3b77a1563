import 'reflect-metadata';
import { once } from 'node:events';
import { constants } from 'node:os';
import { DataSource } from 'typeorm';
import { ApiKey } from '../platform/access/api-key.entity.js';
import { KeyAdministration } from '../platform/access/administration/key-administration.js';
import {
  listActions,
  recordAction,
} from '../platform/access/administration/operator-actions.repository.js';
import { OwnerAdministration } from '../platform/access/administration/owner-administration.js';
import { KeySecret } from '../platform/access/key-cache/key-secret.entity.js';
import { Owner } from '../platform/access/owner.entity.js';
import type { DatabaseSettings } from '../platform/config/database-settings.js';
import { Settings } from '../platform/config/settings.js';
import { STOP_SIGNALS } from '../platform/config/stop-signals.js';
import { findDemo } from '../demo/demo.repository.js';
import { copyTables } from '../platform/database/copy/copy-tables.js';
import { dataSourceOptions } from '../platform/database/data-source-options.js';
import { type DatabaseLocation, locateDatabase } from '../platform/database/database-location.js';
import { hasCluster } from '../platform/database/embedded/cluster.js';
import { isTemporary } from '../platform/database/embedded/embedded-postgres.js';
import type { Seed } from '../platform/database/sql.js';
import { migrate, migrationStatus } from '../platform/database/schema/migrate.js';
import { PRODUCT } from '../product.js';

/** Adding a batch of rows or analyzing a large table may take minutes. */
const STATEMENT_TIMEOUT_MS = 600_000;

export interface StoreOptions {
  /** Whether the command may create the embedded database. */
  create?: boolean;
  /** Whether migrations may be pending. */
  anySchema?: boolean;
}

/** What commands use. */
export type Store = Awaited<ReturnType<typeof createStore>>;

function connect({ connection }: DatabaseLocation, settings: DatabaseSettings) {
  const options = dataSourceOptions(connection, settings, {
    purpose: 'cli',
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    poolSize: 1,
  });
  return new DataSource({ ...options, entities: [ApiKey, KeySecret, Owner] }).initialize();
}

async function createStore(location: DatabaseLocation, settings: DatabaseSettings) {
  const dataSource = await connect(location, settings);
  const database = dataSource.manager;
  const owners = new OwnerAdministration(database);
  return {
    keys: new KeyAdministration(database),
    owners,
    target: location,
    audit: async (owner?: string) => {
      return listActions(database, owner === undefined ? null : (await owners.get(owner)).id);
    },
    migrationStatus: () => migrationStatus(dataSource),
    /** Executes all pending migrations and records it. Returns their names, oldest first. */
    migrate: () =>
      migrate(location, settings, {
        record: (session, migrations) => recordAction(session, 'db migrate', { migrations }),
      }),
    seed: async ({ rows, add }: Seed, count: number) => {
      // Recorded first, so that an interrupted command has not added rows without a record.
      await recordAction(database, 'db seed', { requested: { [rows]: count } });
      await add(database, count);
    },
    /** Copies the embedded store to this one. Returns the number of copied rows of each table. */
    copyEmbedded: async () => {
      const { dataDir } = settings;
      if (location.embedded) throw new Error('Set DATABASE_URL to the database to copy to.');
      if (!hasCluster(dataDir))
        throw new Error(`There is no database in ${dataDir}. Set DATA_DIR.`);
      const opening = locateDatabase({ ...settings, connection: undefined }, 'command');
      // Also when a signal ends the command.
      location.close = async () => (await opening).close();
      const { description } = await opening;
      const source = await connect(await opening, settings);
      return copyTables(
        { description, dataSource: source },
        { description: location.description, dataSource },
        findDemo,
        (session, details) => recordAction(session, 'db copy-embedded', details),
      ).finally(() => source.destroy());
    },
    close: () => dataSource.destroy(),
  };
}

/**
 * Runs the work on the store that the settings select, and closes it. The service may be running.
 * Prints which database it is. Unless MIGRATE_ON_START=false, migrates the embedded database first.
 *
 * @throws Error if there is none, or if migrations are pending that it may not run
 */
export async function withStore(
  { create = false, anySchema = false }: StoreOptions,
  work: (store: Store) => Promise<void>,
): Promise<void> {
  const { database: settings } = new Settings();
  const { connection, dataDir } = settings;
  if (!create && connection === undefined && !hasCluster(dataDir)) {
    throw new Error(
      `There is no database in ${dataDir}. Set DATABASE_URL, or run \`npm start\` first.`,
    );
  }
  await withLocation(settings, async (location) => {
    console.error(`Database: ${location.description}`);
    const store = await createStore(location, settings);
    try {
      if (!anySchema && (await store.migrationStatus()).pending.length > 0) {
        if (!location.embedded || !settings.migrateOnStart) {
          throw new Error(`The schema is not up to date. Run \`${PRODUCT.command} db migrate\`.`);
        }
        await store.migrate();
      }
      await work(store);
    } finally {
      await store.close();
    }
  });
}

/** Opens the database for the work, and closes it. A signal ends the process, after closing it. */
async function withLocation(
  settings: DatabaseSettings,
  work: (location: DatabaseLocation) => Promise<void>,
): Promise<void> {
  const interruption = new AbortController();
  const { signal } = interruption;
  const interrupt = (name: NodeJS.Signals) => interruption.abort(name);
  // A further signal must not end the process before the server is stopped.
  for (const name of STOP_SIGNALS) process.on(name, interrupt);
  let location: DatabaseLocation | undefined;
  try {
    location = await locateDatabase(settings, 'command', signal);
    signal.throwIfAborted();
    await Promise.race([work(location), once(signal, 'abort')]);
  } catch (cause) {
    if (!location?.embedded || !isTemporary(cause)) throw cause;
    const message = 'The embedded database was stopped or has failed. Run the command again.';
    throw new Error(message, { cause });
  } finally {
    await location?.close();
    // As a shell reports it.
    if (signal.aborted) process.exit(128 + constants.signals[signal.reason as NodeJS.Signals]);
    for (const name of STOP_SIGNALS) process.off(name, interrupt);
  }
}
