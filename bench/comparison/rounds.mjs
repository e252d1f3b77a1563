// @ts-check
import { sendAndCompare } from '../load/response-check.mjs';
import { CLIENTS } from '../load/load-clients.mjs';
import { familySeconds, processSeconds, residentBytes } from '../measurements/process-usage.mjs';

/**
 * What one scenario costs one peer in one round. Processor time is microseconds a request.
 *
 * @typedef {object} Sample
 * @property {number} requests
 * @property {number} requestsPerSecond
 * @property {number} p50Ms
 * @property {number} p99Ms
 * @property {number} nodeUs
 * @property {number} postgresUs
 * @property {number} redisUs 0 without Redis
 * @property {number} residentBytes of the Node process, at the end of the round
 *
 * @typedef {{ scenario: import('./scenarios.mjs').Scenario, peer: import('./peers.mjs').Peer, samples: Sample[] }} Result
 */

/**
 * Load before each round, which is not measured. While a peer was idle, V8 has collected unused
 * hidden classes, and it compiles the dependent code again (docs/performance.md).
 */
const LEAD_IN_SECONDS = 2;

/**
 * Everything that is asked, round by round, so that what disturbs the machine disturbs all peers
 * alike.
 */
export class Rounds {
  /**
   * @param {import('../processes/environment.mjs').Stage} stage
   * @param {import('../options.mjs').Options} options
   * @param {AbortSignal} signal ends it
   */
  constructor(stage, options, signal) {
    this.stage = stage;
    this.options = options;
    this.signal = signal;
  }

  /**
   * Warms all up, then asks each peer what it can be asked, in every round beginning with another
   * one.
   *
   * @param {import('./scenarios.mjs').Scenario[]} scenarios
   * @param {import('../processes/peer-process.mjs').PeerProcess[]} peers
   * @returns {Promise<Result[]>}
   */
  async run(scenarios, peers) {
    const { rounds, seconds, warmUpSeconds } = this.options;
    const pairs = scenarios.flatMap((scenario) =>
      peers
        .filter(({ peer }) => peer.abilities.includes(scenario.ability))
        .map((peer) => ({ scenario, peer, samples: /** @type {Sample[]} */ ([]) })),
    );
    if (warmUpSeconds > 0) {
      for (const { peer, scenario } of pairs) await this.#warmUp(peer, scenario, warmUpSeconds);
    }
    for (let round = 0; round < rounds; round++) {
      console.log(`Round ${round + 1} of ${rounds}`);
      for (const scenario of scenarios) {
        const asked = pairs.filter((pair) => pair.scenario === scenario);
        const first = round % Math.max(1, asked.length);
        for (const { peer, samples } of [...asked.slice(first), ...asked.slice(0, first)]) {
          if (warmUpSeconds > 0) await this.#warmUp(peer, scenario, LEAD_IN_SECONDS);
          samples.push(await this.#measure(peer, scenario, seconds));
        }
      }
    }
    return pairs.map(({ peer, ...pair }) => ({ ...pair, peer: peer.peer }));
  }

  /**
   * @param {import('../processes/peer-process.mjs').PeerProcess} peer
   * @param {import('./scenarios.mjs').Scenario} scenario
   * @param {number} seconds
   */
  async #warmUp(peer, scenario, seconds) {
    await this.#ask(peer, await sendAndCompare(peer, scenario), seconds);
  }

  /**
   * @param {import('../processes/peer-process.mjs').PeerProcess} peer
   * @param {import('./scenarios.mjs').Scenario} scenario
   * @param {number} seconds
   * @returns {Promise<Sample>}
   */
  async #measure(peer, scenario, seconds) {
    const question = await sendAndCompare(peer, scenario);
    const before = this.#processorSeconds(peer.pid);
    const load = await this.#ask(peer, question, seconds);
    const after = this.#processorSeconds(peer.pid);
    // The client does not distinguish rejections, so the response is compared again.
    await sendAndCompare(peer, scenario);
    /** @param {'node' | 'postgres' | 'redis'} process */
    const us = (process) => ((after[process] - before[process]) * 1e6) / load.requests;
    return {
      ...load,
      nodeUs: us('node'),
      postgresUs: us('postgres'),
      redisUs: us('redis'),
      residentBytes: residentBytes(peer.pid),
    };
  }

  /**
   * @param {import('../processes/peer-process.mjs').PeerProcess} peer
   * @param {import('../load/response-check.mjs').Question} question
   * @param {number} seconds
   */
  async #ask(peer, question, seconds) {
    const { connections, client } = this.options;
    const { folder } = this.stage;
    try {
      const load = await CLIENTS[client](question, {
        seconds,
        connections,
        folder,
        signal: this.signal,
      });
      peer.requests += load.requests;
      return load;
    } catch (error) {
      const { method, url } = question;
      peer.fail(`was asked ${method} ${url}: ${error instanceof Error ? error.message : 'failed'}`);
    }
  }

  /** @param {number} node its process id */
  #processorSeconds(node) {
    const { postgres, redis } = this.stage.pids;
    return {
      node: processSeconds(node),
      postgres: familySeconds(postgres),
      redis: redis === undefined ? 0 : processSeconds(redis),
    };
  }
}
