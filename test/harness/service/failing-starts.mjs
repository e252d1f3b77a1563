// @ts-check
// Starts the service with each environment of the first argument, a list in JSON, in one process. Prints a list of the
// class and the message of each error.
import { register } from 'prom-client';
import { AppModule } from '#dist/app.module.js';
import { Settings } from '#dist/platform/config/settings.js';
import { locateDatabase } from '#dist/platform/database/database-location.js';
import { runService } from '#dist/platform/lifecycle.js';
import { createLogger } from '#dist/platform/logging/logger.js';

const log = {
  logger: createLogger('silent', { write: () => undefined }),
  print: () => undefined,
  droppedLines: () => 0,
  end: () => Promise.resolve(),
};
const never = new Promise(() => undefined);

/** @param {NodeJS.ProcessEnv} env */
async function start(env) {
  const settings = new Settings(env);
  const database = await locateDatabase(settings.database, 'service');
  await runService([AppModule], settings, database, log, never, new AbortController().signal);
}

const errors = [];
for (const env of JSON.parse(process.argv[2] ?? '[]')) {
  // A process usually starts once.
  register.clear();
  try {
    errors.push(await start(env));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    errors.push([error.constructor.name, error.message]);
  }
}
process.stdout.write(JSON.stringify(errors), () => process.exit());
