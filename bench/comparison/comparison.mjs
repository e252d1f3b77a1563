// @ts-check
import { LoadGenerator } from '../load/load.mjs';
import { sendAndCheck } from '../load/response-check.mjs';
import { startPeer } from '../processes/peer-process.mjs';
import { cpuSeconds, cpuTimes, residentBytes } from '../processes/process-usage.mjs';
import { earlierService, PEERS } from './peers.mjs';
import { listScenarios } from './scenarios.mjs';

/** @typedef {import('../processes/environment.mjs').Environment} Environment */
/** @typedef {import('../options.mjs').Options} Options */
/** @typedef {import('../processes/peer-process.mjs').PeerProcess} PeerProcess */
/** @typedef {{ scenario: import('./scenarios.mjs').Scenario, peer: PeerProcess }} Pair */

/**
 * The figures of one scenario, peer and round. CPU times are in microseconds per request.
 *
 * @typedef {object} Sample
 * @property {number} perSecond requests
 * @property {number} p50Ms
 * @property {number} p99Ms
 * @property {number} nodeUs user and system time together
 * @property {number} userUs of Node.js
 * @property {number} systemUs of Node.js
 * @property {number} postgresUs
 * @property {number} redisUs NaN without Redis
 * @property {number} residentBytes of the Node.js process, at the end of the round
 *
 * @typedef {{ scenario: string, peer: string, samples: Sample[] }} Result names and figures
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
  /** @param {string} scenario @param {string} peer @param {Sample} sample */
  const add = (scenario, peer, sample) => {
    const result = results.find((row) => row.scenario === scenario && row.peer === peer);
    if (result) result.samples.push(sample);
    else results.push({ scenario, peer, samples: [sample] });
  };
  const processes = Math.min(options.processes, options.rounds);
  for (let index = 0; index < processes; index++) {
    // The first processes measure one round more if the rounds cannot be divided evenly.
    const rounds = Math.ceil((options.rounds - index) / processes);
    console.log(`Process ${index + 1} of ${processes}: ${rounds} rounds`);
    await measure(environment, { ...options, rounds }, signal, add);
  }
  return results;
}

/**
 * Starts the peers and measures them in interleaved rounds, so that other work on the machine affects
 * all of them equally.
 *
 * @param {Environment} environment
 * @param {Options} options
 * @param {AbortSignal} signal stops the measurement
 * @param {(scenario: string, peer: string, sample: Sample) => void} add
 */
async function measure(environment, options, signal, add) {
  const { rounds, warmUp, seconds, connections } = options;
  const generator = new LoadGenerator(environment.folder, signal);
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
      nodeUs: usPerRequest('user') + usPerRequest('system'),
      userUs: usPerRequest('user'),
      systemUs: usPerRequest('system'),
      postgresUs: usPerRequest('postgres'),
      redisUs: usPerRequest('redis'),
      residentBytes: residentBytes(peer.pid),
    };
  };
  /** @type {PeerProcess[]} */
  const peers = [];
  try {
    for (const peer of chosenPeers(environment, options)) {
      peers.push(await startPeer({ ...peer, node: options.node }, environment, signal));
    }
    const pairs = await listPairs(environment, options, peers);
    if (warmUp > 0) for (const pair of pairs) await load(pair, warmUp);
    for (let round = 0; round < rounds; round++) {
      for (const name of options.scenario) {
        const ofScenario = pairs.filter(({ scenario }) => scenario.name === name);
        // Each round starts with another peer.
        const first = round % Math.max(1, ofScenario.length);
        for (const pair of [...ofScenario.slice(first), ...ofScenario.slice(0, first)]) {
          if (warmUp > 0) await load(pair, LEAD_IN_SECONDS);
          add(name, pair.peer.name, await load(pair, seconds));
        }
      }
    }
  } finally {
    await Promise.all(peers.map((peer) => peer.stop()));
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
 * @returns the scenarios that each peer supports
 */
async function listPairs({ store, earlier = store }, options, peers) {
  const scenarios = await listScenarios(store);
  const ofEarlier = await listScenarios(earlier);
  return peers.flatMap((peer) =>
    (peer.name === 'earlier' ? ofEarlier : scenarios)
      .filter(({ name, feature }) => {
        return options.scenario.includes(name) && peer.features.includes(feature);
      })
      .map((scenario) => ({ scenario, peer })),
  );
}

/** @param {Environment} environment @param {PeerProcess} peer */
function usage({ pids }, peer) {
  return {
    ...cpuTimes(peer.pid),
    postgres: cpuSeconds(pids.postgres),
    redis: pids.redis === undefined ? NaN : cpuSeconds(pids.redis),
  };
}
