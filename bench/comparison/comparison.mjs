// @ts-check
import { LoadGenerator } from '../load/load.mjs';
import { sendAndCheck } from '../load/response-check.mjs';
import { PeerProcess } from '../processes/peer-process.mjs';
import { cpuSeconds, residentBytes } from '../processes/process-usage.mjs';
import { earlierService, PEERS } from './peers.mjs';
import { listScenarios } from './scenarios.mjs';

/** @typedef {import('../processes/environment.mjs').Environment} Environment */
/** @typedef {import('../options.mjs').Options} Options */
/** @typedef {import('./scenarios.mjs').Scenario} Scenario */

/**
 * The figures of one scenario, peer and round. CPU times are in microseconds per request.
 *
 * @typedef {object} Sample
 * @property {number} perSecond requests
 * @property {number} p50Ms
 * @property {number} p99Ms
 * @property {number} nodeUs
 * @property {number} postgresUs
 * @property {number} redisUs NaN without Redis
 * @property {number} residentBytes of the Node.js process, at the end of the round
 *
 * @typedef {{ scenario: string, peer: string, samples: Sample[] }} Result names and figures
 *
 * @typedef {{ scenario: Scenario, peer: PeerProcess, samples: Sample[] }} Pair
 */

/**
 * Load before each round that is not measured. While a peer is idle, V8 collects hidden classes,
 * and must compile the dependent code again (docs/performance.md).
 */
const LEAD_IN_SECONDS = 2;

/**
 * Measures all peers in the same rounds. Divides the rounds among several processes of each peer,
 * because V8 compiles the same program differently in each process (docs/performance.md).
 *
 * @param {Environment} environment
 * @param {Options} options
 * @param {AbortSignal} signal stops the measurement
 * @returns {Promise<Result[]>}
 * @throws if a peer ends or returns an unexpected response
 */
export async function comparePeers(environment, options, signal) {
  /** @type {Result[]} */
  const results = [];
  const processes = Math.min(options.processes, options.rounds);
  for (let index = 0; index < processes; index++) {
    // The first processes measure one round more if the rounds cannot be divided evenly.
    const rounds = Math.ceil((options.rounds - index) / processes);
    console.log(`Process ${index + 1} of ${processes}: ${rounds} rounds`);
    for (const { scenario, peer, samples } of await measure(environment, options, rounds, signal)) {
      const names = { scenario: scenario.name, peer: peer.peer.name };
      const result = results.find(
        (row) => row.scenario === names.scenario && row.peer === names.peer,
      );
      if (result) result.samples.push(...samples);
      else results.push({ ...names, samples });
    }
  }
  return results;
}

/**
 * Starts the peers and measures them in interleaved rounds, so that other work on the machine affects
 * all of them equally.
 *
 * @param {Environment} environment
 * @param {Options} options
 * @param {number} rounds
 * @param {AbortSignal} signal stops the measurement
 */
async function measure(environment, options, rounds, signal) {
  const { warmUp, seconds, connections } = options;
  const peers = chosenPeers(environment, options);
  const generator = new LoadGenerator(environment.folder, signal);
  /** @type {PeerProcess[]} */
  const started = [];
  /** @param {Pair} pair @param {number} duration in seconds @returns {Promise<Sample>} */
  const load = async ({ peer, scenario }, duration) => {
    const request = await sendAndCheck(peer, scenario);
    const before = usage(environment, peer);
    const result = await generator.run(request, { connections, seconds: duration });
    const after = usage(environment, peer);
    // wrk does not report the exact status, so another response is checked.
    await sendAndCheck(peer, scenario);
    const { requests, others, ...figures } = result;
    if (requests === 0 || Object.values(others).some((count) => count > 0)) {
      peer.fail(`failed under load, ${scenario.name}: ${JSON.stringify(result)}`);
    }
    /** @param {keyof typeof after} process */
    const usPerRequest = (process) => ((after[process] - before[process]) * 1e6) / requests;
    return {
      ...figures,
      nodeUs: usPerRequest('node'),
      postgresUs: usPerRequest('postgres'),
      redisUs: usPerRequest('redis'),
      residentBytes: residentBytes(peer.pid),
    };
  };
  try {
    for (const peer of peers) started.push(await PeerProcess.start(peer, environment, signal));
    const pairs = await listPairs(environment, options, started);
    if (warmUp > 0) for (const pair of pairs) await load(pair, warmUp);
    for (let round = 0; round < rounds; round++) {
      for (const name of options.scenario) {
        const ofScenario = pairs.filter(({ scenario }) => scenario.name === name);
        // Each round starts with another peer.
        const first = round % Math.max(1, ofScenario.length);
        for (const pair of [...ofScenario.slice(first), ...ofScenario.slice(0, first)]) {
          if (warmUp > 0) await load(pair, LEAD_IN_SECONDS);
          pair.samples.push(await load(pair, seconds));
        }
      }
    }
    return pairs;
  } finally {
    await Promise.all(started.map((peer) => peer.stop()));
  }
}

/** @param {Environment} environment @param {Options} options */
function chosenPeers({ redisUrl }, { peer: names, earlier }) {
  const chosen = PEERS.filter(({ name, redis }) => names.includes(name) && (!redis || redisUrl));
  return earlier === undefined ? chosen : [...chosen, earlierService(earlier)];
}

/**
 * @param {Environment} environment
 * @param {Options} options
 * @param {PeerProcess[]} peers
 * @returns {Promise<Pair[]>} the scenarios that each peer supports
 */
async function listPairs({ store, earlier = store }, options, peers) {
  const scenarios = await listScenarios(store);
  const ofEarlier = await listScenarios(earlier);
  return peers.flatMap((peer) =>
    (peer.peer.name === 'earlier' ? ofEarlier : scenarios)
      .filter(({ name, feature }) => {
        return options.scenario.includes(name) && peer.peer.features.includes(feature);
      })
      .map((scenario) => ({ scenario, peer, samples: [] })),
  );
}

/** @param {Environment} environment @param {PeerProcess} peer */
function usage({ pids }, peer) {
  return {
    node: cpuSeconds(peer.pid),
    postgres: cpuSeconds(pids.postgres),
    redis: pids.redis === undefined ? NaN : cpuSeconds(pids.redis),
  };
}
