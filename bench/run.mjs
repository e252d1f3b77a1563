// @ts-check
// Compares the service with other servers. Usage: npm run bench -- --help
import { setMaxListeners } from 'node:events';
import { comparePeers } from './comparison/comparison.mjs';
import { measureOverload } from './overload.mjs';
import { readOptions, USAGE, UsageError } from './options.mjs';
import { withEnvironment } from './processes/environment.mjs';
import { report } from './report.mjs';

/**
 * @param {import('./options.mjs').Options} options
 * @param {AbortSignal} signal stops the run and all its processes
 */
async function bench(options, signal) {
  await withEnvironment(options, signal, async (environment) => {
    const results = await comparePeers(environment, options, signal);
    const overload = options.scenarios.includes('overload')
      ? await measureOverload(environment, signal)
      : [];
    await report({ results, overload }, options);
  });
}

const stop = new AbortController();
// Each process adds listeners.
setMaxListeners(0, stop.signal, process);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());
try {
  if (process.argv.includes('--help')) console.log(USAGE);
  else await bench(readOptions(process.argv.slice(2)), stop.signal);
} catch (error) {
  const isOneLine = error instanceof UsageError || stop.signal.aborted;
  console.error(isOneLine ? /** @type {Error} */ (error).message : error);
  process.exitCode = 1;
}
