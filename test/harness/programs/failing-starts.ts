// Starts the service with each environment of the first argument, a list in JSON, in one process. Prints a list of the
// class and the message of each error. A feature fails if FEATURE says so.
import { register } from 'prom-client';
import { AppModule } from '../../../src/app.module.js';
import { runService } from '../../../src/platform/process/lifecycle.js';
import { PRODUCT } from '../../../src/product.js';

// Each start adds listeners for signals, the exit and errors of the output. Node.js would warn of a leak.
process.setMaxListeners(0);
process.stdout.setMaxListeners(0);

const errors: ([string, string] | null)[] = [];
for (const env of JSON.parse(process.argv[2] ?? '[]') as Record<string, string>[]) {
  // A process usually starts once.
  register.clear();
  Object.assign(process.env, env);
  try {
    await runService(PRODUCT, () =>
      process.env['FEATURE'] === 'not loaded'
        ? Promise.reject(new Error('The feature is broken.'))
        : Promise.resolve(AppModule),
    );
    errors.push(null);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    errors.push([error.constructor.name, error.message]);
  }
  for (const name of Object.keys(env)) Reflect.deleteProperty(process.env, name);
}
process.stdout.write(JSON.stringify(errors), () => process.exit());
