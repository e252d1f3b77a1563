// @ts-check
// Measures the service under more load than it can serve.
import { NODE_HTTP, SERVICE } from './comparison/peers.mjs';
import { LoadGenerator } from './load/load.mjs';
import { startPeer } from './processes/peer-process.mjs';
import { residentBytes } from './processes/process-usage.mjs';
import { rounded } from './report.mjs';

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

/** @type {[string, Record<string, string>][]} */
const LOADS = [
  [`${CONNECTIONS} connections that never pause`, {}],
  [`${CONNECTIONS} clients with a new connection for each request`, { Connection: 'close' }],
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
  const generator = new LoadGenerator(environment.folder, signal);
  for (const definition of [SERVICE, NODE_HTTP]) {
    const peer = await startPeer(definition, environment, signal);
    /** @param {number} connections @param {number} seconds @param {Record<string, string>} [headers] */
    const run = (connections, seconds, headers) => {
      const request = {
        url: `http://127.0.0.1:${peer.port}/v1/pets`,
        headers: { Authorization: `Bearer ${environment.store.keys.caller}`, ...headers },
        status: 200,
      };
      return generator.autocannon(request, { connections, seconds });
    };
    try {
      await run(PEAK_CONNECTIONS, SECONDS.warmUp);
      for (const [load, headers] of LOADS) {
        console.log(`Overload of ${definition.name}: ${load}`);
        const before = await run(PEAK_CONNECTIONS, SECONDS.peak);
        const probe = new Probe(peer.port, peer.pid);
        const result = await run(CONNECTIONS, SECONDS.overload, headers);
        const health = await probe.stop();
        const after = await run(PEAK_CONNECTIONS, SECONDS.peak);
        const { 503: rejected = 0, failed = 0 } = result.others;
        overloads.push({
          peer: definition.name,
          load,
          '200 per s': rounded(result.perSecond),
          '503 per s': rounded(rejected / SECONDS.overload),
          'failed per s': rounded(failed / SECONDS.overload),
          'goodput / peak': rounded((2 * result.perSecond) / (before.perSecond + after.perSecond)),
          'peak after / before': rounded(after.perSecond / before.perSecond),
          'p99 ms': rounded(result.p99Ms),
          'slowest live ms': rounded(health.liveMs),
          'max MB': rounded(health.maxResidentBytes / 1e6),
        });
      }
    } finally {
      await peer.stop();
    }
  }
  return overloads;
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
async function latencyMs(port) {
  const startedAtMs = performance.now();
  const request = { headers: { Connection: 'close' }, signal: AbortSignal.timeout(PROBE_LIMIT_MS) };
  const response = fetch(`http://127.0.0.1:${port}/health/live`, request);
  return response.then(
    () => performance.now() - startedAtMs,
    () => Infinity,
  );
}
