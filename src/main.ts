import { constants } from 'node:os';
import type { ServerSettings } from './platform/config/server-settings.js';
import { Settings } from './platform/config/settings.js';
import { nextSignal, STOP_SIGNALS } from './platform/config/stop-signals.js';
import { loadEnvFile } from './platform/config/text-file.js';
import { locateDatabase } from './platform/database/database-location.js';
import { StartError } from './platform/errors/start-error.js';
import { createLog, type Log } from './platform/logging/logger.js';

const EXIT_LIMIT_MS = 1_000;

try {
  await runProcess();
  process.exit();
} catch (error) {
  // The program that started this one reports a file that cannot be loaded.
  if (/MODULE_NOT_FOUND$|^EMFILE$/.test(String((error as NodeJS.ErrnoException).code))) throw error;
  // The message has one line per problem.
  console.error(error instanceof StartError ? error.message : error);
  process.exitCode = 1;
  // An open handle, such as a connection to a database that hangs, must not keep the process.
  setTimeout(() => process.exit(), EXIT_LIMIT_MS).unref();
}

async function runProcess(): Promise<void> {
  loadEnvFile();
  const settings = new Settings();
  const log = await createLog(settings.logging);
  const { logger } = log;
  const stopping = new AbortController();
  const { signal } = stopping;
  try {
    const stopReason = firstReasonToStop(log, settings.server);
    const hurried = stopReason.then(nextSignal);
    void stopReason.then((reason) => stopping.abort(reason));
    // At the same time, because loading the application and starting the database both take long.
    const [{ runService }, { AppModule }, database] = await Promise.all([
      import('./platform/lifecycle.js'),
      import('./app.module.js'),
      locateDatabase(settings.database, 'service', signal),
    ]);
    await runService([AppModule], settings, database, log, stopReason, signal, hurried);
  } catch (error) {
    // The service has to stop before it has started.
    const reason = signal.reason as NodeJS.Signals | undefined;
    if (reason === undefined || error !== reason) throw error;
    logger.info({ signal: reason }, 'stopped');
    process.exitCode ??= 128 + constants.signals[reason];
  } finally {
    await log.end(EXIT_LIMIT_MS);
  }
}

/** Resolves to the first signal or uncaught exception, after which the process ends in any case. */
function firstReasonToStop(
  log: Log,
  { shutdownDelayMs, shutdownGraceMs }: ServerSettings,
): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of STOP_SIGNALS) process.on(signal, resolve);
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
