import { run } from './run.js';

for (const stream of [process.stdout, process.stderr]) {
  // The write that failed is told of it; unheard, the event would end the process with connections open.
  stream.on('error', () => undefined);
}
process.exitCode = await run(process.argv.slice(2));
