// @ts-check
import { createReadStream } from 'node:fs';
import { sendAndCheck } from '../load/response-check.mjs';
import { PeerProcess } from '../processes/peer-process.mjs';
import { Rounds } from './rounds.mjs';

/** @typedef {import('../processes/environment.mjs').Environment} Environment */
/** @typedef {import('../options.mjs').Options} Options */
/** @typedef {import('./peers.mjs').Peer} Peer */
/** @typedef {import('./rounds.mjs').Result} Result */
/** @typedef {import('./scenarios.mjs').Scenario} Scenario */

/** @typedef {{ all: Scenario[], measured: Scenario[] }} Scenarios */

/**
 * Measures all peers in the same rounds. Divides the rounds among several processes of each peer,
 * because V8 compiles the same program differently in each process (docs/performance.md).
 *
 * @param {Environment} environment
 * @param {Options} options
 * @param {Peer[]} peers
 * @param {Scenarios} scenarios
 * @param {AbortSignal} signal stops the measurement
 * @returns {Promise<Result[]>}
 * @throws if a peer ends or returns an unexpected response
 */
export async function comparePeers(environment, options, peers, scenarios, signal) {
  /** @type {Result[]} */
  let results = [];
  let roundsLeft = options.rounds;
  for (let processesLeft = options.processes; roundsLeft > 0; processesLeft--) {
    const rounds = Math.ceil(roundsLeft / processesLeft);
    roundsLeft -= rounds;
    console.log(`Starting new processes for ${rounds} of ${options.rounds} rounds`);
    results = concatenated(
      results,
      await measureProcesses(environment, { ...options, rounds }, peers, scenarios, signal),
    );
  }
  return results;
}

/**
 * @param {Result[]} before
 * @param {Result[]} after of the same peers and scenarios, in the same order
 */
function concatenated(before, after) {
  return after.map((result, index) => ({
    ...result,
    samples: [...(before[index]?.samples ?? []), ...result.samples],
  }));
}

/**
 * Starts the peers, checks their responses to all scenarios, and measures some of them.
 *
 * @param {Environment} environment
 * @param {Options} options
 * @param {Peer[]} peers
 * @param {Scenarios} scenarios
 * @param {AbortSignal} signal stops the measurement
 */
async function measureProcesses(environment, options, peers, { all, measured }, signal) {
  /** @type {PeerProcess[]} */
  const started = [];
  try {
    const starts = await Promise.allSettled(
      peers.map(async (peer) => started.push(await PeerProcess.start(peer, environment, signal))),
    );
    for (const start of starts) if (start.status === 'rejected') throw start.reason;
    started.sort((a, b) => peers.indexOf(a.peer) - peers.indexOf(b.peer));
    for (const scenario of all) {
      for (const peer of started) {
        if (peer.peer.features.includes(scenario.feature)) await sendAndCheck(peer, scenario);
      }
    }
    return await new Rounds(environment, options, signal).run(measured, started);
  } finally {
    await Promise.all(started.map((peer) => peer.stop()));
    if (!signal.aborted) for (const peer of started) await checkLogLines(peer);
  }
}

/**
 * Checks that the service has logged each request, because the log is part of its cost.
 *
 * @param {PeerProcess} peer
 * @throws if log lines are missing
 */
async function checkLogLines(peer) {
  if (!peer.peer.name.startsWith('service')) return;
  let lines = 0;
  for await (const chunk of createReadStream(peer.logFile)) {
    for (const byte of chunk) if (byte === 10) lines++;
  }
  if (lines < peer.requests) {
    peer.fail(`served ${peer.requests} requests but logged ${lines} lines`);
  }
}
