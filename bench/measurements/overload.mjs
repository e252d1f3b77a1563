// @ts-check
// Measures the service under four times the load that it can serve.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { killOnExit } from '../processes/child-processes.mjs';
import { HealthProbe } from './health-probe.mjs';
import { PeerProcess } from '../processes/peer-process.mjs';
import { PEERS } from '../comparison/peers.mjs';
import { residentBytes } from './process-usage.mjs';

/** @typedef {import('../load/load-generator.mjs').Load} Load */
/** @typedef {import('../load/load-generator.mjs').LoadResult} LoadResult */

/**
 * @typedef {object} OverloadPhase
 * @property {string} title
 * @property {boolean} isArrivals whether each request came on a new connection
 * @property {number} offered requests that were due
 * @property {number} offeredPerSecond
 * @property {number} unsent due requests that were not sent because no connection was free or open
 * @property {number} accepted 200 responses
 * @property {number} shed 503 responses
 * @property {number} broken requests whose connection closed without a response
 * @property {number} goodputShare 200 responses per second, divided by the mean of the peaks before and after
 * @property {number} p99Ms of the accepted requests
 * @property {number} liveNewMs highest latency of /health/live on a new connection
 * @property {number} liveOpenMs highest latency of /health/live on an open connection
 * @property {[before: number, max: number, after: number]} residentBytes of the service
 * @property {number} recoveryMs time after the load until goodput and latency are as before it
 *
 * @typedef {{ peakPerSecond: number, peakP99Ms: number, phases: OverloadPhase[] }} Overload
 */

const LOAD_GENERATOR = fileURLToPath(new URL('../load/load-generator.mjs', import.meta.url));
const PATH = '/v1/pets?limit=20';
/** The default of `npm run bench`, which keeps the service busy. */
const PEAK_CONNECTIONS = 64;
const CONNECTIONS = 1_000;
const OVERLOAD_FACTOR = 4;
const SECONDS = { warmUp: 15, peak: 6, overload: 15 };

/**
 * Goodput and latency are compared in windows. The service has recovered when a window is as good
 * as the worst tenth of the windows before the load.
 */
const WINDOW_MS = 250;
const WINDOW_STEP_MS = 50;
const WORST_SHARE = 0.1;

/**
 * Measures the peak goodput of lists, then the behavior under three kinds of overload.
 *
 * @param {import('../processes/environment.mjs').Environment} environment
 * @param {AbortSignal} signal stops the measurement
 * @returns {Promise<Overload>}
 */
export async function measureOverload(environment, signal) {
  const service = PEERS.find(({ name }) => name === 'service');
  if (!service) throw new Error('The peer "service" is missing.');
  const peer = await PeerProcess.start(service, environment, signal);
  const generator = fork(LOAD_GENERATOR, { serialization: 'advanced', signal });
  killOnExit(generator);
  generator.on('error', () => undefined);
  const request = `GET ${PATH} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${environment.keys.caller}\r\n\r\n`;
  /** @param {Omit<Load, 'port' | 'request'>} load @returns {Promise<LoadResult>} */
  const run = async (load) => {
    generator.send({ ...load, port: peer.port, request });
    const [result] = await once(generator, 'message', { signal });
    return result;
  };
  const runPeak = (seconds = SECONDS.peak) =>
    run({ kind: 'closed', connections: PEAK_CONNECTIONS, seconds });
  try {
    await runPeak(SECONDS.warmUp);
    let before = await runPeak();
    const peakPerSecond = goodput(before);
    const peakP99Ms = percentile(before.acceptedMs, 0.99);
    /** @type {{ title: string, load: Omit<Load, 'port' | 'request' | 'seconds'> }[]} */
    const loads = [
      {
        title: `${CONNECTIONS} connections that never pause`,
        load: { kind: 'closed', connections: CONNECTIONS },
      },
      {
        title: `${OVERLOAD_FACTOR} × the peak over ${CONNECTIONS} connections`,
        load: {
          kind: 'open',
          connections: CONNECTIONS,
          perSecond: OVERLOAD_FACTOR * peakPerSecond,
        },
      },
      {
        title: `${CONNECTIONS} new connections per second`,
        load: { kind: 'arrivals', connections: CONNECTIONS },
      },
    ];
    /** @type {OverloadPhase[]} */
    const phases = [];
    for (const { title, load } of loads) {
      console.log(`Overload: ${title}`);
      const memoryBefore = residentBytes(peer.pid);
      const probe = new HealthProbe(peer.port, peer.pid);
      const result = await run({ ...load, seconds: SECONDS.overload });
      const health = await probe.stop();
      const after = await runPeak();
      phases.push({
        title,
        isArrivals: load.kind === 'arrivals',
        ...figures(result),
        goodputShare: goodput(result) / ((goodput(before) + goodput(after)) / 2),
        liveNewMs: health.newConnectionMs,
        liveOpenMs: health.openConnectionMs,
        residentBytes: [memoryBefore, health.maxResidentBytes, residentBytes(peer.pid)],
        recoveryMs: recoveryMs(before, after),
      });
      before = after;
    }
    return { peakPerSecond, peakP99Ms, phases };
  } finally {
    generator.kill();
    await peer.stop();
  }
}

/** @param {LoadResult} result */
function figures({ sent, unsent, statuses, seconds, acceptedMs }) {
  const offered = sent + unsent;
  return {
    offered,
    offeredPerSecond: offered / seconds,
    unsent,
    accepted: statuses['200'] ?? 0,
    shed: statuses['503'] ?? 0,
    broken: statuses['0'] ?? 0,
    p99Ms: percentile(acceptedMs, 0.99),
  };
}

/** @param {LoadResult} result */
function goodput({ statuses, seconds }) {
  return (statuses['200'] ?? 0) / seconds;
}

/**
 * Returns the end of the first window whose goodput and p99 are as good as before the load, in
 * milliseconds, or Infinity if there is none.
 *
 * @param {LoadResult} before
 * @param {LoadResult} after starts when the load ends
 */
function recoveryMs(before, after) {
  const normal = windows(before);
  const lowestRate = percentile(
    Float64Array.from(normal, ({ accepted }) => accepted),
    WORST_SHARE,
  );
  const highestP99Ms = percentile(
    Float64Array.from(normal, ({ p99Ms }) => p99Ms),
    1 - WORST_SHARE,
  );
  const recovered = windows(after).find(
    ({ accepted, p99Ms }) => accepted >= lowestRate && p99Ms <= highestP99Ms,
  );
  return recovered?.endMs ?? Infinity;
}

/** @param {LoadResult} result */
function windows({ acceptedAtMs, acceptedMs, seconds }) {
  const count = Math.floor((seconds * 1_000 - WINDOW_MS) / WINDOW_STEP_MS) + 1;
  return Array.from({ length: count }, (_, index) => {
    const startMs = index * WINDOW_STEP_MS;
    const endMs = startMs + WINDOW_MS;
    const first = acceptedAtMs.findIndex((atMs) => atMs >= startMs);
    const next = acceptedAtMs.findIndex((atMs) => atMs >= endMs);
    const latencies = first < 0 ? [] : acceptedMs.slice(first, next < 0 ? undefined : next);
    return {
      endMs,
      accepted: latencies.length,
      p99Ms: percentile(Float64Array.from(latencies), 0.99),
    };
  });
}

/** @param {Float64Array} values @param {number} share @returns {number} Infinity if there are no values */
function percentile(values, share) {
  return (
    values.toSorted()[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Infinity
  );
}
