// @ts-check
// Measures the service under four times the load that it can serve.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { PEERS, SERVICE } from '../comparison/peers.mjs';
import { killOnExit } from '../processes/child-processes.mjs';
import { PeerProcess } from '../processes/peer-process.mjs';
import { HealthProbe } from './health-probe.mjs';
import { goodput, percentile, recoveryMs } from './load-statistics.mjs';
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
 * @property {number} rejected 503 responses
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
 * Measures the peak goodput of lists, then three kinds of overload. The first one is also measured
 * for a bare `node:http` server, which shows what many busy connections cost in Node.
 *
 * @param {import('../processes/environment.mjs').Environment} environment
 * @param {AbortSignal} signal stops the measurement
 * @returns {Promise<Overload>}
 */
export async function measureOverload(environment, signal) {
  const service = await measurePeer(SERVICE, Infinity, environment, signal);
  const bare = PEERS.find(({ name }) => name === 'node-http') ?? SERVICE;
  const { phases } = await measurePeer(bare, 1, environment, signal);
  const ofBare = phases.map((phase) => ({ ...phase, title: `node:http: ${phase.title}` }));
  return { ...service, phases: [...service.phases, ...ofBare] };
}

/**
 * @param {import('../comparison/peers.mjs').Peer} definition
 * @param {number} count how many kinds of overload
 * @param {import('../processes/environment.mjs').Environment} environment
 * @param {AbortSignal} signal
 * @returns {Promise<Overload>}
 */
async function measurePeer(definition, count, environment, signal) {
  const peer = await PeerProcess.start(definition, environment, signal);
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
    /** @type {OverloadPhase[]} */
    const phases = [];
    for (const { title, load } of overloads(peakPerSecond).slice(0, count)) {
      console.log(`Overload of ${definition.name}: ${title}`);
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

/**
 * @param {number} peakPerSecond
 * @returns {{ title: string, load: Omit<Load, 'port' | 'request' | 'seconds'> }[]}
 */
function overloads(peakPerSecond) {
  return [
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
}

/** @param {LoadResult} result */
function figures({ sent, unsent, statuses, seconds, acceptedMs }) {
  const offered = sent + unsent;
  return {
    offered,
    offeredPerSecond: offered / seconds,
    unsent,
    accepted: statuses['200'] ?? 0,
    rejected: statuses['503'] ?? 0,
    broken: statuses['0'] ?? 0,
    p99Ms: percentile(acceptedMs, 0.99),
  };
}
