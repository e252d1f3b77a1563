import { Settings } from './config/settings.js';
import { locateDatabase } from './database/database-location.js';
import { createServiceLog, type ServiceLog } from './logging/logger.js';

/** How long the end of the process waits for the rest of the log. */
const LOG_FLUSH_LIMIT_MS = 1_000;

/** Runs the service until a signal stops it. @throws the error that prevents the start, with a one-line message if an operator can fix it */
export async function runService(): Promise<void> {
  const settings = new Settings();
  // Asked for before anything is started: a signal during the start stops it afterwards, in order.
  const stopSignal = nextSignal(['SIGTERM', 'SIGINT']);
  const log = await createServiceLog(settings.logging);
  endOnFatalError(log);
  // Loading the application takes longer than starting the database: both at once.
  const application = import('./serve.js');
  const database = await locateDatabase(settings.database, 'service');
  try {
    const { serve } = await application;
    await serve(settings, database, log, stopSignal);
  } finally {
    await database.close();
    await log.output.flush(LOG_FLUSH_LIMIT_MS);
  }
}

/** A defect that no request's error handling catches, an unhandled rejection included, ends the process with one line. */
function endOnFatalError({ logger, output }: ServiceLog): void {
  process.once('uncaughtException', (err) => {
    // Another one while the line is written must not end the process without it.
    process.on('uncaughtException', () => undefined);
    logger.fatal({ err }, 'fatal error');
    void output.flush(LOG_FLUSH_LIMIT_MS).then(() => process.exit(1));
  });
}

function nextSignal(signals: readonly NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    // Stays in place: a second signal must not end the process in the middle of its stop.
    for (const signal of signals) process.on(signal, () => resolve(signal));
  });
}
