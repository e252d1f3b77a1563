// @ts-check
// Measures the service under more load than it can serve.
import { get } from 'node:http';
import { NODE_HTTP, SERVICE } from './comparison/peers.mjs';
import { LoadGenerator, percentile } from './load/load-generator.mjs';
import { PeerProcess } from './processes/peer-process.mjs';
import { residentBytes } from './processes/process-usage.mjs';
import { rounded } from './report.mjs';

/** @typedef {import('./load/load-generator.mjs').LoadResult} LoadResult */

/**
 * One kind of overload of one peer. Goodput is the number of 200 responses per second. The peaks are
 * the goodput of a usual load directly before and after it. `live` is /health/live on a new
 * connection, Infinity if a request failed.
 *
 * @typedef {Record<string, string | number>} Overload
 */

/** The default of `npm run bench`, which keeps the service busy. */
const PEAK_CONNECTIONS = 64;
const CONNECTIONS = 1_000;
const SECONDS = { warmUp: 15, peak: 6, overload: 15 };
const PROBE_INTERVAL_MS = 100;
const PROBE_LIMIT_MS = 20_000;

/** @type {[string, import('./load/load-generator.mjs').Load['kind']][]} */
const LOADS = [
  [`${CONNECTIONS} connections that never pause`, 'closed'],
  [`${CONNECTIONS} new connections per second`, 'arrivals'],
];

/**
 * Measures the peak goodput of lists, then each kind of overload. The bare `node:http` server shows
 * what many busy connections cost in Node.
 *
 * @param {import('./processes/environment.mjs').Environment} environment
 * @param {AbortSignal} signal stops the measurement
 * @returns {Promise<Overload[]>}
 */
export async function measureOverload(environment, signal) {
  /** @type {Overload[]} */
  const overloads = [];
  for (const definition of [SERVICE, NODE_HTTP]) {
    const peer = await PeerProcess.start(definition, environment, signal);
    const generator = new LoadGenerator(signal);
    const key = environment.store.keys.caller;
    const request = `GET /v1/pets HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${key}\r\n\r\n`;
    const target = { port: peer.port, request, status: 200 };
    const runPeak = (seconds = SECONDS.peak) =>
      generator.run({ ...target, kind: 'closed', connections: PEAK_CONNECTIONS, seconds });
    try {
      await runPeak(SECONDS.warmUp);
      for (const [load, kind] of LOADS) {
        console.log(`Overload of ${definition.name}: ${load}`);
        const before = await runPeak();
        const probe = new Probe(peer.port, peer.pid);
        const connections = CONNECTIONS;
        const result = await generator.run({
          ...target,
          kind,
          connections,
          seconds: SECONDS.overload,
        });
        const health = await probe.stop();
        const after = await runPeak();
        const accepted = perSecond(result, 200);
        overloads.push({
          peer: definition.name,
          load,
          '200 per s': rounded(accepted),
          '503 per s': rounded(perSecond(result, 503)),
          'closed per s': rounded(perSecond(result, 0)),
          'goodput / peak': rounded(
            (2 * accepted) / (perSecond(before, 200) + perSecond(after, 200)),
          ),
          'peak after / before': rounded(perSecond(after, 200) / perSecond(before, 200)),
          'p99 ms': rounded(percentile(result, 0.99)),
          'slowest live ms': rounded(health.liveMs),
          'max MB': rounded(health.maxResidentBytes / 1e6),
        });
      }
    } finally {
      generator.close();
      await peer.stop();
    }
  }
  return overloads;
}

/** @param {LoadResult} result @param {number} status */
function perSecond({ statuses, seconds }, status) {
  return (statuses[status] ?? 0) / seconds;
}

/** Sends `GET /health/live` ten times per second on a new connection, and reads the memory of the server. */
class Probe {
  /** @type {Promise<number>[]} */
  #latenciesMs = [];
  #maxResidentBytes = 0;

  /** @param {number} port @param {number} pid of the server */
  constructor(port, pid) {
    this.timer = setInterval(() => {
      this.#latenciesMs.push(latencyMs(port));
      this.#maxResidentBytes = Math.max(this.#maxResidentBytes, residentBytes(pid));
    }, PROBE_INTERVAL_MS);
  }

  async stop() {
    clearInterval(this.timer);
    const liveMs = Math.max(...(await Promise.all(this.#latenciesMs)));
    return { liveMs, maxResidentBytes: this.#maxResidentBytes };
  }
}

/** @param {number} port @returns {Promise<number>} Infinity if the request failed */
function latencyMs(port) {
  const startedAtMs = performance.now();
  const signal = AbortSignal.timeout(PROBE_LIMIT_MS);
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path: '/health/live', agent: false, signal });
    request.once('error', () => resolve(Infinity));
    request.once('response', (response) => {
      response.resume().once('end', () => resolve(performance.now() - startedAtMs));
    });
  });
}
