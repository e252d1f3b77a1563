// @ts-check
// Measures the service side by side with what a team would otherwise run: npm run bench -- --help
import { setMaxListeners } from 'node:events';
import { measureCounters } from './measurements/counters.mjs';
import { readOptions, USAGE, UsageError } from './options.mjs';
import { PEERS } from './comparison/peers.mjs';
import { measureOverload } from './measurements/overload.mjs';
import { report } from './report/report.mjs';
import { listScenarios, SCENARIO_NAMES } from './comparison/scenarios.mjs';
import { measureSideBySide } from './comparison/comparison.mjs';
import { onStage } from './processes/environment.mjs';
import { measureStarts } from './measurements/starts.mjs';
import { summarise } from './report/summary.mjs';

/** Chosen like scenarios, but not measured side by side. */
const OTHERS = ['start', 'counters', 'overload'];

/**
 * @param {import('./options.mjs').Options} options
 * @param {AbortSignal} signal ends all that runs
 */
async function bench(options, signal) {
  const isAsked = chosen('scenario', [...SCENARIO_NAMES, ...OTHERS], options.scenarios);
  const peerNames = PEERS.map(({ name }) => name);
  const isPeer = chosen('peer', peerNames, options.peers);
  await onStage(options.animals, signal, async (stage) => {
    const all = await listScenarios(stage.database, stage.keys);
    const timed = all.filter(({ name }) => isAsked(name));
    const peers = PEERS.filter(({ name, redis }) => isPeer(name) && (!redis || stage.redisUrl));
    const rows =
      timed.length > 0
        ? summarise(await measureSideBySide(stage, options, peers, { all, timed }, signal))
        : [];
    const starts = isAsked('start')
      ? await measureStarts(stage, options.rounds, signal)
      : undefined;
    const counters = isAsked('counters') ? await measureCounters(signal) : undefined;
    const overload = isAsked('overload') ? await measureOverload(stage, signal) : undefined;
    const version = await stage.database.query('SHOW server_version');
    await report({ rows, starts, counters, overload }, options, version.rows[0].server_version);
  });
}

/**
 * @param {string} option
 * @param {readonly string[]} names
 * @param {readonly string[] | undefined} wanted undefined: all
 * @returns {(name: string) => boolean}
 */
function chosen(option, names, wanted = names) {
  const unknown = wanted.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(`--${option} takes ${names.join(', ')}; not ${unknown}.`);
  }
  return (name) => wanted.includes(name);
}

const stop = new AbortController();
// Every peer listens.
setMaxListeners(0, stop.signal);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());
// The reader has closed the pipe.
process.stdout.on('error', () => stop.abort());
try {
  if (process.argv.includes('--help')) console.log(USAGE);
  else await bench(readOptions(process.argv.slice(2)), stop.signal);
} catch (error) {
  const isOneLine = error instanceof UsageError || stop.signal.aborted;
  console.error(isOneLine ? /** @type {Error} */ (error).message : error);
  process.exitCode = 1;
}
