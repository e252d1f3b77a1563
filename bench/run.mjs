// @ts-check
// Compares the service with other servers. Usage: npm run bench -- --help
import { setMaxListeners } from 'node:events';
import { comparePeers } from './comparison/comparison.mjs';
import { PEERS } from './comparison/peers.mjs';
import { listScenarios } from './comparison/scenarios.mjs';
import { measureCounters } from './measurements/counters.mjs';
import { measureOverload } from './measurements/overload.mjs';
import { measureStarts } from './measurements/starts.mjs';
import { readOptions, USAGE, UsageError } from './options.mjs';
import { withEnvironment } from './processes/environment.mjs';
import { report } from './report/report.mjs';
import { summarize } from './report/summary.mjs';

/**
 * @param {import('./options.mjs').Options} options
 * @param {AbortSignal} signal stops the run and all its processes
 */
async function bench(options, signal) {
  const { scenarios, peers, rounds } = options;
  await withEnvironment(options.animals, signal, async (environment) => {
    const all = await listScenarios(environment.database, environment.keys);
    const measured = all.filter(({ name }) => scenarios.includes(name));
    const started = PEERS.filter(
      ({ name, redis }) => peers.includes(name) && (!redis || environment.redisUrl),
    );
    const rows =
      measured.length > 0
        ? summarize(await comparePeers(environment, options, started, { all, measured }, signal))
        : [];
    const starts = scenarios.includes('start')
      ? await measureStarts(environment, rounds, signal)
      : undefined;
    const counters = scenarios.includes('counters') ? await measureCounters(signal) : undefined;
    const overload = scenarios.includes('overload')
      ? await measureOverload(environment, signal)
      : undefined;
    const version = await environment.database.query('SHOW server_version');
    await report({ rows, starts, counters, overload }, options, version.rows[0].server_version);
  });
}

const stop = new AbortController();
// Each process adds a listener.
setMaxListeners(0, stop.signal);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());
// The reader of a pipe, such as `head`, may close it.
process.stdout.on('error', () => stop.abort());
try {
  if (process.argv.includes('--help')) console.log(USAGE);
  else await bench(readOptions(process.argv.slice(2)), stop.signal);
} catch (error) {
  const isOneLine = error instanceof UsageError || stop.signal.aborted;
  console.error(isOneLine ? /** @type {Error} */ (error).message : error);
  process.exitCode = 1;
}
