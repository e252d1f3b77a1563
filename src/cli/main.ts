#!/usr/bin/env node
import { COMMANDS } from '../commands.js';
import { PLANS } from '../plans.js';
import { endProcess } from '../platform/config/name-lookups.js';
import { run } from '../platform/commands/program.js';
import { PRODUCT } from '../product.js';

const EXIT_LIMIT_MS = 1_000;

for (const stream of [process.stdout, process.stderr]) {
  // The failed write reports the error. Without a listener, the event would end the process.
  stream.on('error', () => undefined);
}
process.exitCode = await run(process.argv.slice(2), {
  product: PRODUCT,
  plans: PLANS,
  commands: COMMANDS,
  loadRoot: async () => (await import('../app.module.js')).AppModule,
});
// A connection that the server leaves open must not keep the process.
setTimeout(endProcess, EXIT_LIMIT_MS).unref();
