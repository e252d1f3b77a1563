// Starts the service with each environment of the first argument, a list in JSON, in one process. Prints a list of the
// class and the message of each error.
import { pino } from 'pino';
import { register } from 'prom-client';
import { AppModule } from '../../../src/app.module.js';
import { Settings } from '../../../src/platform/config/settings.js';
import { locateDatabase } from '../../../src/platform/database/database-location.js';
import { runService } from '../../../src/platform/lifecycle.js';
import { PRODUCT } from '../../../src/product.js';

const log = {
  logger: pino({ level: 'silent' }),
  print: () => undefined,
  droppedLines: () => 0,
  end: () => Promise.resolve(),
};
const never = new Promise<string>(() => undefined);
const stop = { reason: never, signal: new AbortController().signal, hurried: never };

async function start(env: Record<string, string>): Promise<void> {
  const settings = new Settings(PRODUCT, env);
  const database = await locateDatabase(settings.database, 'service');
  await runService(AppModule, settings, database, log, stop);
}

const errors: ([string, string] | null)[] = [];
for (const env of JSON.parse(process.argv[2] ?? '[]') as Record<string, string>[]) {
  // A process usually starts once.
  register.clear();
  try {
    await start(env);
    errors.push(null);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    errors.push([error.constructor.name, error.message]);
  }
}
process.stdout.write(JSON.stringify(errors), () => process.exit());
