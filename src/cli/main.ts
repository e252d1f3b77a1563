#!/usr/bin/env node
import { run } from './run.js';

for (const stream of [process.stdout, process.stderr]) {
  // The failed write reports the error. Without a listener, the event would end the process.
  stream.on('error', () => undefined);
}
process.exitCode = await run(process.argv.slice(2));
