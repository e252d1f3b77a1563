import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import type { Type } from '@nestjs/common';
import { readOpenFilesLimit } from '../config/bounds.js';
import { SYSTEM_CLOCK } from '../config/clock.js';
import type { DatabaseSettings } from '../config/database-settings.js';
import { endProcess, isLookingUp, limitNameLookups } from '../config/name-lookups.js';
import type { Product } from '../config/product.js';
import type { ServerSettings } from '../config/server-settings.js';
import { Settings } from '../config/settings.js';
import { nextSignal, onStopSignal } from '../config/stop-signals.js';
import { prepareEnvironment } from '../config/env-file.js';
import { locateDatabase } from '../database/database-location.js';
import { StartError } from '../errors/start-error.js';
import { describeCause } from '../errors/error-details.js';
import { createLog, type Log } from '../logging/logger.js';

const EXIT_LIMIT_MS = 1_000;
/** Node.js 20 opens the files of many modules at once. */
const LOADING_FILES = 450;

/**
 * Runs the service until it is stopped, and ends the process. A reason why it cannot start is printed as one
 * line for each problem.
 *
 * @param loadRoot loads AppModule
 */
export async function runProcess(product: Product, loadRoot: () => Promise<Type>): Promise<void> {
  // It cannot be read when all are open.
  const openFiles = readOpenFilesLimit();
  try {
    await runService(product, loadRoot);
    if (!isLookingUp()) process.exit();
  } catch (error) {
    console.error(describeFailure(error, openFiles));
    process.exitCode = 1;
  }
  // What is open, such as a connection to a database that hangs, must not keep the process.
  setTimeout(endProcess, EXIT_LIMIT_MS).unref();
}

/** Returns what to print. With a low limit of open files, Node.js reports modules that exist as missing. */
function describeFailure(error: unknown, limit: number): unknown {
  if (error instanceof StartError) return error.message;
  if (limit >= LOADING_FILES) return error;
  return `Node.js needs up to ${LOADING_FILES} open files to load the service, but the limit is ${limit} (ulimit -n): ${describeCause(error)}`;
}

/**
 * Starts the service, runs it until it is stopped, completes the requests in progress, and closes
 * everything. After a second signal, it waits neither for requests nor for the application to close.
 *
 * @throws StartError when an operator can fix what prevents the start
 */
export async function runService(product: Product, loadRoot: () => Promise<Type>): Promise<void> {
  prepareEnvironment(product.folder);
  limitNameLookups();
  const settings = new Settings(product);
  const log = await createLog(settings.logging);
  await using _log = atEnd(() => log.end(EXIT_LIMIT_MS));
  const stopSignal = createStopSignal(log, settings.server);
  try {
    await serve(settings, log, loadRoot, stopSignal);
    log.logger.info('stopped');
  } catch (error) {
    if (!stopSignal.aborted || error !== stopSignal.reason) throw error;
    // It was stopped before it had started.
    log.logger.info({ signal: error }, 'stopped');
    process.exitCode ??= 128 + constants.signals[error as NodeJS.Signals];
  }
}

/** Serves requests until the signal. What it opens is closed when it ends, in the reverse order. */
async function serve(
  settings: Settings,
  log: Log,
  loadRoot: () => Promise<Type>,
  stopSignal: AbortSignal,
): Promise<void> {
  const { logger } = log;
  const stopRequested = reasonOf(stopSignal);
  const secondSignal = stopRequested.then(nextSignal);
  printFirstStart(settings.database, log);
  const opening = locateDatabase(settings.database, 'service', stopSignal);
  await using _database = atEnd(async () => {
    // If a module cannot be loaded, the database may still be starting.
    const database = await opening.catch(() => undefined);
    await database?.close();
  });
  // At the same time, because both take long. These files load NestJS and TypeORM.
  const [database, root, { createApp }, { prepareSchema }, listeners, shutdown] = await Promise.all(
    [
      opening,
      loadRoot(),
      import('./app.js'),
      import('../database/schema/migrate.js'),
      import('./listeners.js'),
      import('./shutdown.js'),
    ],
  );
  await listeners.checkListeners(settings.server);

  let isMigrating = false;
  const onBegin = () => (isMigrating = true);
  const schemaReady = prepareSchema(settings, database, logger, { signal: stopSignal, onBegin });
  // createApp() reports a failure of it.
  const prepared = schemaReady.catch(() => undefined);
  const migration = () => (isMigrating ? prepared : undefined);
  const objects = { settings, clock: SYSTEM_CLOCK, logger, database, schemaReady };
  const app = await Promise.race([
    createApp(root, objects),
    rejectWhenStopped(stopRequested, migration, secondSignal),
  ]);
  await using _app = atEnd(() =>
    shutdown.closeApp(app, stopSignal.reason as string | undefined, secondSignal, logger),
  );
  const metrics = await listeners.listenForMetrics(app, settings, log);
  await using _metrics = atEnd(() => listeners.closeListener(metrics));
  await listeners.listenForRequests(app, settings.server, log);
  await listeners.announce(app, metrics, objects, log);
  // The service runs until here.
  const reason = await stopRequested;
  logger.info({ signal: reason }, 'stopping');
  await shutdown.drain(app, settings.server, secondSignal);
}

/** Calls the function when the block ends that declares the result with `await using`. */
function atEnd(close: () => unknown): AsyncDisposable {
  return {
    [Symbol.asyncDispose]: async () => {
      await close();
    },
  };
}

/** Prints that the embedded database is created, which takes seconds, to a person at a terminal. */
function printFirstStart({ connection, dataDir }: DatabaseSettings, log: Log): void {
  if (process.stdout.isTTY && connection === undefined && !existsSync(dataDir)) {
    log.print(`Creating a database in ${dataDir}…\n`);
  }
}

/**
 * Returns an AbortSignal that is aborted at the first stop signal of the operating system, with its name, or
 * at an uncaught exception, with its origin. After an uncaught exception, the process ends in any case.
 */
function createStopSignal(
  log: Log,
  { shutdownDelayMs, shutdownGraceMs }: ServerSettings,
): AbortSignal {
  const stopping = new AbortController();
  onStopSignal((name) => stopping.abort(name));
  process.once('uncaughtException', (err, origin) => {
    // A defect often repeats. It must not interrupt the shutdown.
    process.on('uncaughtException', () => undefined);
    process.exitCode = 1;
    log.logger.fatal({ err }, 'fatal error');
    setTimeout(
      () => void log.end(EXIT_LIMIT_MS).then(endProcess),
      shutdownDelayMs + shutdownGraceMs + EXIT_LIMIT_MS,
    );
    stopping.abort(origin);
  });
  return stopping.signal;
}

/** Resolves to the reason when the signal is aborted. */
function reasonOf(signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(signal.reason as string));
  });
}

/**
 * Rejects with the reason to stop while the application is created, because a provider of a feature may
 * never be ready, and a database may not respond. A migration in progress ends first.
 */
async function rejectWhenStopped(
  stopRequested: Promise<string>,
  migration: () => Promise<void> | undefined,
  secondSignal: Promise<void>,
): Promise<never> {
  const reason = await stopRequested;
  await Promise.race([migration(), secondSignal]);
  throw reason as unknown as Error;
}
