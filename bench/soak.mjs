// @ts-check
// Sends mixed traffic with faults. Fails if memory, open files or connections have grown at the end.
// Usage: npm run soak -- --help
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { SERVICE } from './comparison/peers.mjs';
import { withEnvironment } from './processes/environment.mjs';
import { PeerProcess } from './processes/peer-process.mjs';
import { freePort } from './processes/ports.mjs';
import { aligned } from './report/tables.mjs';
import { RedisOutages, revokeKey, terminateConnections } from './soak/faults.mjs';
import { findGrowth, measureIdle, resourcesText } from './soak/resources.mjs';
import { SoakTraffic } from './soak/traffic.mjs';

const USAGE = `Usage: npm run soak -- [options]

Options, with defaults in parentheses:
  --seconds N   duration in seconds (600); the first fifth, at most a minute, is the warm-up
  --help        print this help`;
const ANIMALS = 2_000;
const CLIENTS = { workers: 12, slowClients: 4 };
const MAX_WARM_UP_SECONDS = 60;
const MAX_FAULT_INTERVAL_MS = 5_000;
/** A short run has a shorter interval between its faults. */
const MIN_FAULTS = 6;

const COLLECT_GARBAGE = new URL('soak/collect-garbage.mjs', import.meta.url).href;

/**
 * @param {number} seconds
 * @param {AbortSignal} signal stops the run and all its processes
 * @returns {Promise<string[]>} unexpected responses and resources that have grown
 */
async function soak(seconds, signal) {
  return withEnvironment(ANIMALS, signal, async (environment) => {
    const redis = await RedisOutages.start(environment.folder);
    const metricsPort = await freePort();
    const service = await PeerProcess.start(
      {
        name: 'soak',
        title: 'this service',
        program: SERVICE.program,
        features: [],
        env: {
          METRICS_PORT: String(metricsPort),
          HEADERS_TIMEOUT_SECONDS: '2',
          REQUEST_TIMEOUT_SECONDS: '3',
          ANONYMOUS_REQUESTS_PER_MINUTE: '1000000000',
          BAN_SECONDS: '5',
          ...(redis && { REDIS_URL: redis.url }),
        },
      },
      environment,
      signal,
      ['--expose-gc', '--import', COLLECT_GARBAGE],
    );
    const faults = [
      () => terminateConnections(environment.database),
      ...(redis ? [() => redis.interrupt()] : []),
      () => revokeKey(environment.database, service.port),
    ];
    /** @param {number} duration in seconds */
    const run = (duration) => runTraffic(environment, service.port, duration, faults, signal);
    /** @param {import('./soak/resources.mjs').Resources} [limit] */
    const measure = (limit) => measureIdle(environment.database, service.pid, metricsPort, limit);
    try {
      const warmUpSeconds = Math.min(seconds / 5, MAX_WARM_UP_SECONDS);
      const warmUp = await run(warmUpSeconds);
      const before = await measure();
      console.log(`after the warm-up: ${resourcesText(before)}`);
      const main = await run(seconds - warmUpSeconds);
      const after = await measure(before);
      console.log(`at the end: ${resourcesText(after)}`);
      console.log(`\n${countsText(main.counts)}\n`);
      return [...warmUp.failures, ...main.failures, ...findGrowth(before, after)];
    } finally {
      await service.stop();
      await redis?.close();
    }
  });
}

/**
 * Sends traffic for some time and causes a fault at intervals.
 *
 * @param {import('./processes/environment.mjs').Environment} environment
 * @param {number} port of the service
 * @param {number} seconds
 * @param {readonly (() => Promise<unknown>)[]} faults in this order, repeatedly
 * @param {AbortSignal} signal stops the traffic
 */
async function runTraffic(environment, port, seconds, faults, signal) {
  const traffic = new SoakTraffic(port, environment.keys);
  traffic.start(CLIENTS);
  const endMs = performance.now() + seconds * 1_000;
  const intervalMs = Math.min((seconds * 1_000) / MIN_FAULTS, MAX_FAULT_INTERVAL_MS);
  try {
    for (let index = 0; performance.now() + intervalMs < endMs; index++) {
      await delay(intervalMs, undefined, { signal });
      await faults[index % faults.length]?.().catch((/** @type {unknown} */ error) =>
        traffic.addFailure('fault', error),
      );
    }
    await delay(Math.max(0, endMs - performance.now()), undefined, { signal });
  } finally {
    await traffic.stop();
  }
  return traffic;
}

/** @param {Record<string, number>} counts */
function countsText(counts) {
  const rows = Object.entries(counts).sort(([one], [other]) => (one < other ? -1 : 1));
  return aligned([['responses', 'number'], ...rows.map(([name, count]) => [name, String(count)])]);
}

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());
const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '600' }, help: { type: 'boolean' } },
});
if (values.help) console.log(USAGE);
else if (!/^[1-9]\d{0,5}$/.test(values.seconds)) {
  console.error('--seconds must be a positive whole number.');
  process.exitCode = 1;
} else {
  try {
    const failures = await soak(Number(values.seconds), stop.signal);
    for (const failure of failures) console.error(`FAILED  ${failure}`);
    if (failures.length > 0) process.exitCode = 1;
    else console.log('No resource has grown, and every response had an expected status.');
  } catch (error) {
    console.error(stop.signal.aborted ? 'Aborted.' : error);
    process.exitCode = 1;
  }
}
