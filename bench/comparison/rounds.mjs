// @ts-check
import { LOAD_CLIENTS } from '../load/load-clients.mjs';
import { sendAndCheck } from '../load/response-check.mjs';
import {
  cpuSeconds,
  cpuSecondsWithChildren,
  residentBytes,
} from '../measurements/process-usage.mjs';

/** @typedef {import('../processes/peer-process.mjs').PeerProcess} PeerProcess */
/** @typedef {import('./scenarios.mjs').Scenario} Scenario */

/**
 * The result of one scenario, peer and round. CPU times are in microseconds per request.
 *
 * @typedef {object} Sample
 * @property {number} requests
 * @property {number} requestsPerSecond
 * @property {number} p50Ms
 * @property {number} p99Ms
 * @property {number} nodeUs
 * @property {number} postgresUs
 * @property {number} redisUs 0 without Redis
 * @property {number} residentBytes of the Node.js process, at the end of the round
 *
 * @typedef {{ scenario: Scenario, peer: import('./peers.mjs').Peer, samples: Sample[] }} Result
 */

/**
 * Load before each round that is not measured. While a peer is idle, V8 collects hidden classes,
 * and must compile the dependent code again (docs/performance.md).
 */
const LEAD_IN_SECONDS = 2;

/**
 * Measures all peers in interleaved rounds, so that other work on the machine affects all of them
 * equally.
 */
export class Rounds {
  /**
   * @param {import('../processes/environment.mjs').Environment} environment
   * @param {import('../options.mjs').Options} options
   * @param {AbortSignal} signal stops the measurement
   */
  constructor(environment, options, signal) {
    this.environment = environment;
    this.options = options;
    this.signal = signal;
  }

  /**
   * Warms up all peers, then measures each peer in each round. Each round starts with another peer.
   *
   * @param {Scenario[]} scenarios
   * @param {PeerProcess[]} peers
   * @returns {Promise<Result[]>}
   */
  async run(scenarios, peers) {
    const { rounds, seconds, warmUpSeconds } = this.options;
    const pairs = scenarios.flatMap((scenario) =>
      peers
        .filter(({ peer }) => peer.features.includes(scenario.feature))
        .map((peer) => ({ scenario, peer, samples: /** @type {Sample[]} */ ([]) })),
    );
    if (warmUpSeconds > 0) {
      for (const { peer, scenario } of pairs) await this.#warmUp(peer, scenario, warmUpSeconds);
    }
    for (let round = 0; round < rounds; round++) {
      console.log(`Round ${round + 1} of ${rounds}`);
      for (const scenario of scenarios) {
        const ofScenario = pairs.filter((pair) => pair.scenario === scenario);
        const first = round % Math.max(1, ofScenario.length);
        const ordered = [...ofScenario.slice(first), ...ofScenario.slice(0, first)];
        for (const { peer, samples } of ordered) {
          if (warmUpSeconds > 0) await this.#warmUp(peer, scenario, LEAD_IN_SECONDS);
          samples.push(await this.#measure(peer, scenario, seconds));
        }
      }
    }
    return pairs.map(({ peer, ...pair }) => ({ ...pair, peer: peer.peer }));
  }

  /**
   * @param {PeerProcess} peer
   * @param {Scenario} scenario
   * @param {number} seconds
   */
  async #warmUp(peer, scenario, seconds) {
    await this.#sendLoad(peer, await sendAndCheck(peer, scenario), seconds);
  }

  /**
   * @param {PeerProcess} peer
   * @param {Scenario} scenario
   * @param {number} seconds
   * @returns {Promise<Sample>}
   */
  async #measure(peer, scenario, seconds) {
    const request = await sendAndCheck(peer, scenario);
    const before = this.#cpuSeconds(peer.pid);
    const load = await this.#sendLoad(peer, request, seconds);
    const after = this.#cpuSeconds(peer.pid);
    // wrk does not report the exact status, so another response is checked.
    await sendAndCheck(peer, scenario);
    /** @param {'node' | 'postgres' | 'redis'} process */
    const usPerRequest = (process) => ((after[process] - before[process]) * 1e6) / load.requests;
    return {
      ...load,
      nodeUs: usPerRequest('node'),
      postgresUs: usPerRequest('postgres'),
      redisUs: usPerRequest('redis'),
      residentBytes: residentBytes(peer.pid),
    };
  }

  /**
   * @param {PeerProcess} peer
   * @param {import('../load/response-check.mjs').LoadRequest} request
   * @param {number} seconds
   */
  async #sendLoad(peer, request, seconds) {
    const { connections, client } = this.options;
    const { folder } = this.environment;
    const { signal } = this;
    try {
      const load = await LOAD_CLIENTS[client](request, { seconds, connections, folder, signal });
      peer.requests += load.requests;
      return load;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      peer.fail(`failed under load, ${request.method} ${request.url}: ${reason}`);
    }
  }

  /** @param {number} nodePid */
  #cpuSeconds(nodePid) {
    const { postgres, redis } = this.environment.pids;
    return {
      node: cpuSeconds(nodePid),
      postgres: cpuSecondsWithChildren(postgres),
      redis: redis === undefined ? 0 : cpuSeconds(redis),
    };
  }
}
