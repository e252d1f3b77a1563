// @ts-check
import { createReadStream } from 'node:fs';
import { askAndCompare } from './answers.mjs';
import { PeerProcess } from './peer-process.mjs';
import { Rounds } from './rounds.mjs';

/**
 * Starts the peers, compares an answer of each to each scenario that it takes part in, timed or not, and measures.
 *
 * @param {import('./stage.mjs').Stage} stage
 * @param {import('./options.mjs').Options} options
 * @param {import('./peers.mjs').Peer[]} peers
 * @param {{ all: import('./scenarios.mjs').Scenario[], timed: import('./scenarios.mjs').Scenario[] }} scenarios
 * @param {AbortSignal} signal ends it
 * @throws when a peer fails, or answers anything but what is expected
 */
export async function measureSideBySide(stage, options, peers, { all, timed }, signal) {
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
        if (peer.peer.abilities.includes(scenario.ability)) await askAndCompare(peer, scenario);
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
    peer.fail(`answered ${peer.requests} requests and logged ${lines}`);
  }
}
