// @ts-check
import { createReadStream } from 'node:fs';
import { sendAndCompare } from '../load/response-check.mjs';
import { PeerProcess } from '../processes/peer-process.mjs';
import { Rounds } from './rounds.mjs';

/**
 * Measures all peers, in several processes of each, one after the other: what V8 makes of a program
 * differs from one process to the next, by half for some peers, and no number of rounds in one
 * process would show it.
 *
 * @param {import('../processes/environment.mjs').Stage} stage
 * @param {import('../options.mjs').Options} options
 * @param {import('./peers.mjs').Peer[]} peers
 * @param {Scenarios} scenarios
 * @param {AbortSignal} signal ends it
 * @returns {Promise<import('./rounds.mjs').Result[]>}
 * @throws when a peer fails, or returns an unexpected response
 */
export async function measureSideBySide(stage, options, peers, scenarios, signal) {
  /** @type {import('./rounds.mjs').Result[]} */
  let results = [];
  let roundsLeft = options.rounds;
  for (let processesLeft = options.processes; roundsLeft > 0; processesLeft--) {
    const rounds = Math.ceil(roundsLeft / processesLeft);
    roundsLeft -= rounds;
    console.log(`${rounds} of ${options.rounds} rounds, in new processes`);
    results = joined(
      results,
      await measureProcesses(stage, { ...options, rounds }, peers, scenarios, signal),
    );
  }
  return results;
}

/**
 * @param {import('./rounds.mjs').Result[]} before
 * @param {import('./rounds.mjs').Result[]} after of the same peers and scenarios, in the same order
 */
function joined(before, after) {
  return after.map((result, index) => ({
    ...result,
    samples: [...(before[index]?.samples ?? []), ...result.samples],
  }));
}

/**
 * Starts the peers, compares a response of each peer to each of its scenarios, and measures.
 *
 * @typedef {{ all: import('./scenarios.mjs').Scenario[], timed: import('./scenarios.mjs').Scenario[] }} Scenarios
 *
 * @param {import('../processes/environment.mjs').Stage} stage
 * @param {import('../options.mjs').Options} options
 * @param {import('./peers.mjs').Peer[]} peers
 * @param {Scenarios} scenarios
 * @param {AbortSignal} signal ends it
 */
async function measureProcesses(stage, options, peers, { all, timed }, signal) {
  /** @type {PeerProcess[]} */
  const started = [];
  try {
    const starts = await Promise.allSettled(
      peers.map(async (peer) => started.push(await PeerProcess.start(peer, stage, signal))),
    );
    for (const start of starts) if (start.status === 'rejected') throw start.reason;
    started.sort((a, b) => peers.indexOf(a.peer) - peers.indexOf(b.peer));
    for (const scenario of all) {
      for (const peer of started) {
        if (peer.peer.abilities.includes(scenario.ability)) await sendAndCompare(peer, scenario);
      }
    }
    return await new Rounds(stage, options, signal).run(timed, started);
  } finally {
    await Promise.all(started.map((peer) => peer.stop()));
    if (!signal.aborted) for (const peer of started) await expectLogLines(peer);
  }
}

/**
 * The service writes a line for each request: one that left some out would be measured too fast.
 *
 * @param {PeerProcess} peer
 */
async function expectLogLines(peer) {
  if (!peer.peer.name.startsWith('service')) return;
  let lines = 0;
  for await (const chunk of createReadStream(peer.logFile)) {
    for (const byte of chunk) if (byte === 10) lines++;
  }
  if (lines < peer.requests) {
    peer.fail(`served ${peer.requests} requests and logged ${lines}`);
  }
}
