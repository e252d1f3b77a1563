import { constants } from 'node:os';
import { SettingError } from './platform/config/environment-reader.js';
import type { ServerSettings } from './platform/config/server-settings.js';
import { Settings } from './platform/config/settings.js';
import { type DatabaseLocation, locateDatabase } from './platform/database/database-location.js';
import { EmbeddedDatabaseError } from './platform/database/embedded/embedded-database-error.js';
import { StartError } from './platform/errors/start-error.js';
import { createLog, type Log } from './platform/logging/logger.js';

/** Errors that an operator can fix. Their message has one line per problem and is printed alone. */
const OPERATOR_ERRORS = [SettingError, StartError, EmbeddedDatabaseError];

const EXIT_LIMIT_MS = 1_000;

try {
  await runProcess();
  process.exit();
} catch (error) {
  // The program that started this one reports a file that cannot be loaded.
  if (/MODULE_NOT_FOUND$|^EMFILE$/.test(String((error as NodeJS.ErrnoException).code))) throw error;
  const isOperatorError = OPERATOR_ERRORS.some((type) => error instanceof type);
  console.error(isOperatorError ? (error as Error).message : error);
  process.exitCode = 1;
  // An open handle, such as a connection to a database that hangs, must not keep the process.
  setTimeout(() => process.exit(), EXIT_LIMIT_MS).unref();
}

async function runProcess(): Promise<void> {
  const settings = new Settings();
  const log = await createLog(settings.logging);
  try {
    const stopReason = firstReasonToStop(log, settings.server);
    // At the same time, because loading the application and starting the database both take long.
    const [{ runService }, { AppModule }, database] = await Promise.all([
      import('./platform/lifecycle.js'),
      import('./app.module.js'),
      openDatabase(settings, log, stopReason),
    ]);
    if (database && (await runService([AppModule], settings, database, log, stopReason))) return;
    const signal = await stopReason;
    log.logger.info({ signal }, 'stopped');
    process.exitCode ??= 128 + constants.signals[signal as NodeJS.Signals];
  } finally {
    await log.end(EXIT_LIMIT_MS);
  }
}

/** Returns null if the process has to stop first. */
async function openDatabase(
  settings: Settings,
  { logger }: Log,
  stopReason: Promise<string>,
): Promise<DatabaseLocation | null> {
  const stopping = new AbortController();
  void stopReason.then((reason) => stopping.abort(reason));
  const { signal } = stopping;
  const onWait = () => logger.info('waiting for a command that uses the embedded database');
  try {
    return await locateDatabase(settings.database, 'service', { signal, onWait });
  } catch (error) {
    if (!signal.aborted) throw error;
    return null;
  }
}

/** Resolves to the first signal or uncaught exception, after which the process ends in any case. */
function firstReasonToStop(
  log: Log,
  { shutdownDelayMs, shutdownGraceMs }: ServerSettings,
): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, resolve);
    process.once('uncaughtException', (err, origin) => {
      // A defect often repeats. It must not interrupt the shutdown.
      process.on('uncaughtException', () => undefined);
      process.exitCode = 1;
      log.logger.fatal({ err }, 'fatal error');
      setTimeout(
        () => void log.end(EXIT_LIMIT_MS).then(() => process.exit()),
        shutdownDelayMs + shutdownGraceMs + EXIT_LIMIT_MS,
      );
      resolve(origin);
    });
  });
}
