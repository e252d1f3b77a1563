import { SettingError } from './config/setting-error.js';
import { Settings } from './config/settings.js';
import { locateDatabase } from './database/database-location.js';
import { EmbeddedDatabaseError } from './embedded-postgres/embedded-database-error.js';
import { StartError } from './errors/start-error.js';
import { createServiceLog, type ServiceLog } from './logging/logger.js';

/** Errors that an operator can fix. Their message is one line, printed without a stack. */
const OPERATOR_ERRORS = [SettingError, StartError, EmbeddedDatabaseError];

const FATAL_FLUSH_LIMIT_MS = 1_000;
const EXIT_LIMIT_MS = 1_000;

try {
  await runProcess();
  process.exit(0);
} catch (error) {
  const isOperatorError = OPERATOR_ERRORS.some((type) => error instanceof type);
  console.error(isOperatorError ? (error as Error).message : error);
  process.exitCode = 1;
  // An open handle, such as a connection to a database that hangs, must not keep the process.
  setTimeout(() => process.exit(), EXIT_LIMIT_MS).unref();
}

async function runProcess(): Promise<void> {
  const settings = new Settings();
  const stopSignal = firstSignal('SIGTERM', 'SIGINT');
  const log = await createServiceLog(settings.logging);
  exitOnUncaughtException(log);
  // At the same time, because loading the application and starting the database both take long.
  const [{ runService }, database] = await Promise.all([
    import('./lifecycle.js'),
    locateDatabase(settings.database, 'service'),
  ]);
  await runService(settings, database, log, stopSignal);
}

/** Resolves to the first signal. Later signals do not interrupt the shutdown. */
function firstSignal(...signals: NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of signals) process.on(signal, () => resolve(signal));
  });
}

function exitOnUncaughtException({ logger, output }: ServiceLog): void {
  process.once('uncaughtException', (err) => {
    // Another exception must not end the process before the line is written.
    process.on('uncaughtException', () => undefined);
    logger.fatal({ err }, 'fatal error');
    void output.flush(FATAL_FLUSH_LIMIT_MS).then(() => process.exit(1));
  });
}
