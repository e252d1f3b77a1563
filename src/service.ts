import { Settings } from './config/settings.js';
import { locateDatabase } from './database/database-location.js';
import { createLogger } from './http/service-logger.js';

/** Runs the service until it is told to stop. @throws what kept it from starting, in one line where that can be mended */
export async function runService(): Promise<void> {
  const settings = new Settings();
  // Asked for before anything is started: a signal during the start stops it afterwards, in order.
  const stopSignal = nextSignal(['SIGTERM', 'SIGINT']);
  const logger = await createLogger(settings.logLevel);
  // Loading the application takes longer than starting the database: both at once.
  const application = import('./serve.js');
  const database = await locateDatabase(settings, 'service');
  try {
    const { serve } = await application;
    await serve(settings, database, logger, stopSignal);
  } finally {
    await database.close();
  }
}

function nextSignal(signals: readonly NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    // Stays in place: a second signal must not end the process in the middle of its stop.
    for (const signal of signals) process.on(signal, () => resolve(signal));
  });
}
