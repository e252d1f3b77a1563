import { once } from 'node:events';
import { constants } from 'node:os';
import type { INestApplicationContext, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { recordAction } from '../access/administration/operator-actions.repository.js';
import { DataSource } from 'typeorm';
import type { DeclaredCommand } from './command.decorator.js';
import { CommitObserver, explainFailure } from './command-failure.js';
import { Terminal } from './terminal.js';
import { DAY_MS, SYSTEM_CLOCK } from '../config/clock.js';
import type { DatabaseSettings } from '../config/database-settings.js';
import type { Product } from '../config/product.js';
import { Settings } from '../config/settings.js';
import { endProcess } from '../config/name-lookups.js';
import { onStopSignal } from '../config/stop-signals.js';
import { type DatabaseLocation, locateDatabase } from '../database/database-location.js';
import { hasCluster } from '../database/embedded/cluster.js';
import { isSchemaCurrent, migrate } from '../database/schema/migrate.js';
import { createLogger } from '../logging/logger.js';
import { NestLogger } from '../logging/nest-logger.js';
import { type ProcessObjects, withObjects } from '../process/process.module.js';
import { printResult } from './result.js';

type CommandProvider = Record<string, (...args: unknown[]) => Promise<object | undefined>>;

/** A command that an operator has entered. */
export interface CommandCall {
  readonly provider: Type;
  readonly declared: DeclaredCommand;
  readonly args: unknown[];
  /** Whether the result is printed as JSON. */
  readonly json: true | undefined;
}

/**
 * Returns an application without a server, after a check of the schema unless the command accepts any.
 *
 * @param root the module that has the provider of the command
 * @throws Error if migrations are pending that the command may not run
 */
export type OpenApplication = (
  root: Type,
  objects: ProcessObjects,
  anySchema: boolean,
) => Promise<Pick<INestApplicationContext, 'get' | 'close'>>;

/** A command takes as long as its input. */
const STATEMENT_TIMEOUT_MS = DAY_MS;

/**
 * Runs a command in an application without a server, on the database that the settings select. The
 * service may be running. Prints which database it is, and the result. Unless MIGRATE_ON_START=false,
 * migrates the embedded database first.
 *
 * @param root the module that has the provider
 * @param open tests use one application for several commands
 * @throws Error if there is no database, or if migrations are pending that it may not run
 */
export async function runCommand(
  product: Product,
  root: Type,
  { provider, declared, args, json }: CommandCall,
  open: OpenApplication = openApplication,
): Promise<void> {
  const { method, effect, createsDatabase = false, anySchema = false } = declared;
  const settings = new Settings(product);
  const { connection, dataDir } = settings.database;
  if (!createsDatabase && connection === undefined && !hasCluster(dataDir)) {
    throw new Error(
      `There is no database in ${dataDir}. Set DATABASE_URL, or run \`npm start\` first.`,
    );
  }
  const observer = new CommitObserver();
  await withLocation(settings.database, async (database) => {
    console.error(`Database: ${database.description}`);
    // The log is silent, because a failure is printed as one line. Without Redis settings, features do not
    // connect to Redis. `Counters` reads them itself.
    const logger = createLogger({ ...settings.logging, level: 'silent' }, process.stderr);
    const use = { poolSize: 2, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
    const own = { redis: undefined, database: { ...settings.database, ...use } };
    const objects = {
      clock: SYSTEM_CLOCK,
      database,
      logger,
      schemaReady: Promise.resolve(),
      settings: Object.assign({}, settings, own),
    };
    const application = await open(root, objects, anySchema);
    application.get(DataSource).subscribers.push(observer);
    try {
      const commands = application.get<CommandProvider>(provider);
      await printResult(await commands[method]?.(...args), declared, json);
      if (!json) application.get(Terminal).notes.forEach((note) => console.error(note));
    } finally {
      await application.close();
    }
  }).catch((error: unknown) => {
    const { isCommitSent } = observer;
    const isEmbedded = connection === undefined;
    throw explainFailure(error, { effect, isCommitSent, isEmbedded, command: product.command });
  });
}

export const openApplication: OpenApplication = async (root, objects, anySchema) => {
  if (!anySchema) await requireSchema(objects.database, objects.settings);
  return NestFactory.createApplicationContext(withObjects(root, objects), {
    logger: new NestLogger(objects.logger, () => undefined),
    abortOnError: false,
  });
};

async function requireSchema(
  location: DatabaseLocation,
  { database, product }: Settings,
): Promise<void> {
  if (await isSchemaCurrent(location, database)) return;
  if (!location.embedded || !database.migrateOnStart) {
    throw new Error(`The schema is not up to date. Run \`${product.command} db migrate\`.`);
  }
  await migrateAsOperator(location, database);
}

/** Executes all pending migrations and records it. Returns their names, oldest first. */
export function migrateAsOperator(
  location: DatabaseLocation,
  settings: DatabaseSettings,
): Promise<string[]> {
  return migrate(location, settings, {
    record: (session, migrations) => recordAction(session, 'db migrate', { migrations }),
  });
}

/** The databases of the one command that the process runs. */
const opened: Promise<DatabaseLocation>[] = [];

/** Opens a database for the command. It is closed when the command ends, also by a signal. */
export function openDatabase(
  settings: DatabaseSettings,
  signal?: AbortSignal,
): Promise<DatabaseLocation> {
  const opening = locateDatabase(settings, 'command', signal);
  opened.push(opening);
  return opening;
}

/** Opens the database for the work, and closes all. A signal ends the process, after closing them. */
async function withLocation(
  settings: DatabaseSettings,
  work: (location: DatabaseLocation) => Promise<void>,
): Promise<void> {
  const interruption = new AbortController();
  const { signal } = interruption;
  // A further signal must not end the process before the server is stopped.
  const stopListening = onStopSignal((name) => interruption.abort(name));
  try {
    const location = await openDatabase(settings, signal);
    signal.throwIfAborted();
    await Promise.race([work(location), once(signal, 'abort')]);
  } finally {
    for (const result of await Promise.allSettled(opened.splice(0)))
      if (result.status === 'fulfilled') await result.value.close();
    // As a shell reports it.
    if (signal.aborted) {
      process.exitCode = 128 + constants.signals[signal.reason as NodeJS.Signals];
      endProcess();
    }
    stopListening();
  }
}
