import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import type { Type } from '@nestjs/common';
import type { Product } from './config/product.js';
import type { ServerSettings } from './config/server-settings.js';
import { Settings } from './config/settings.js';
import { nextSignal, STOP_SIGNALS } from './config/stop-signals.js';
import { loadEnvFile } from './config/text-file.js';
import { locateDatabase } from './database/database-location.js';
import { StartError } from './errors/start-error.js';
import { createLog, type Log } from './logging/logger.js';

const EXIT_LIMIT_MS = 1_000;

/**
 * Runs the service until it is stopped, and ends the process. A reason why it cannot start is printed as one
 * line for each problem.
 *
 * @param loadRoot loads AppModule, at the same time as the database starts, because both take long
 */
export async function runProcess(product: Product, loadRoot: () => Promise<Type>): Promise<void> {
  try {
    await run(product, loadRoot);
    process.exit();
  } catch (error) {
    console.error(error instanceof StartError ? error.message : error);
    process.exitCode = 1;
    // An open handle, such as a connection to a database that hangs, must not keep the process.
    setTimeout(() => process.exit(), EXIT_LIMIT_MS).unref();
  }
}

async function run(product: Product, loadRoot: () => Promise<Type>): Promise<void> {
  loadEnvFile();
  const settings = new Settings(product);
  const log = await createLog(settings.logging);
  const stopping = new AbortController();
  const { signal } = stopping;
  const { connection, dataDir } = settings.database;
  if (process.stdout.isTTY && connection === undefined && !existsSync(dataDir)) {
    log.print(`Creating a database in ${dataDir}…\n`);
  }
  try {
    const reason = firstReasonToStop(log, settings.server);
    const stop = { reason, signal, hurried: reason.then(nextSignal) };
    void reason.then((name) => stopping.abort(name));
    const locating = locateDatabase(settings.database, 'service', signal);
    const loading = [import('./lifecycle.js'), loadRoot(), locating] as const;
    const [{ runService }, root, database] = await Promise.all(loading).catch(
      async (error: unknown) => {
        // A module that cannot be loaded must not leave the embedded server running.
        await locating.then((location) => location.close()).catch(() => undefined);
        throw error;
      },
    );
    await runService(root, settings, database, log, stop);
  } catch (error) {
    // The service has to stop before it has started.
    const reason = signal.reason as NodeJS.Signals | undefined;
    if (reason === undefined || error !== reason) throw error;
    log.logger.info({ signal: reason }, 'stopped');
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
