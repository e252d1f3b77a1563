// @ts-check
// What the rehearsals share: runs and their report, replicas, and waiting.
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import { SERVICE } from '../bench/comparison/peers.mjs';
import { wholeNumber } from '../bench/options.mjs';
import { runUntilStopped } from '../bench/processes/child-processes.mjs';
import { startPeer } from '../bench/processes/peer-process.mjs';

const MAX_LINES = 10;
const WAIT_LIMIT_MS = 120_000;

/** @typedef {import('../bench/processes/environment.mjs').Environment} Environment */
/** @typedef {import('../bench/processes/peer-process.mjs').PeerProcess} Replica */

/** The figures of a run, of which a larger value is worse, and the promises that did not hold. */
export class Outcome {
  /** @type {Record<string, number>} */
  figures = {};
  /** @type {string[]} */
  broken = [];

  /** @param {string} name @param {number} value */
  add(name, value) {
    this.figures[name] = (this.figures[name] ?? 0) + value;
  }

  /** @param {boolean} isKept @param {string} promise what is broken otherwise */
  check(isKept, promise) {
    if (!isKept) this.broken.push(promise);
  }
}

/**
 * Reads the command line, runs a rehearsal several times, and prints the figures. They are also written
 * to a file. The process exits with 1 if a promise is broken.
 *
 * @param {string} name of the npm script, after `rehearse:`
 * @param {string} description for --help
 * @param {(outcome: Outcome, signal: AbortSignal, options: any) => Promise<void>} run stops its
 *   processes when the signal aborts
 * @param {(command: Command) => Command} [addOptions]
 */
export async function rehearse(name, description, run, addOptions = (command) => command) {
  const command = new Command(`npm run rehearse:${name} --`)
    .description(description)
    .option('--runs <N>', 'number of runs', wholeNumber, 1)
    .option('--output <FILE>', 'file for all figures, as JSON', `reports/${name}.json`);
  const options = addOptions(command).parse().opts();
  await runUntilStopped(async (signal) => {
    /** @type {Outcome[]} */
    const outcomes = [];
    for (let number = 1; number <= options.runs; number++) {
      const outcome = new Outcome();
      outcomes.push(outcome);
      await run(outcome, signal, options);
      console.log(`run ${number}:`, outcome.figures);
      for (const line of outcome.broken.slice(0, MAX_LINES)) console.error(`BROKEN  ${line}`);
    }
    const machine = { processor: cpus()[0]?.model, cores: cpus().length, node: process.version };
    await mkdir(dirname(options.output), { recursive: true });
    const json = { at: new Date(), machine, outcomes };
    await writeFile(options.output, `${JSON.stringify(json, null, 2)}\n`);
    if (outcomes.some(({ broken }) => broken.length > 0)) process.exitCode = 1;
    else console.log('Every promise held.');
  });
}

/**
 * Starts replicas of the built service, calls `work`, and stops them.
 *
 * @param {number} count
 * @param {Environment} environment
 * @param {Record<string, string>} env settings, besides the address of the database
 * @param {AbortSignal} signal kills the processes
 * @param {(replicas: Replica[]) => Promise<void>} work
 */
export async function withReplicas(count, environment, env, signal, work) {
  /** @type {Replica[]} */
  const replicas = [];
  try {
    while (replicas.length < count) {
      const name = `replica-${replicas.length + 1}`;
      const peer = { ...SERVICE, name, env: { ...SERVICE.env, ...env } };
      replicas.push(await startPeer(peer, environment, signal));
    }
    await work(replicas);
  } finally {
    await Promise.all(replicas.map((replica) => replica.stop()));
  }
}

/**
 * Waits until a condition holds, at most two minutes.
 *
 * @param {string} title for the error
 * @param {() => boolean | Promise<boolean>} condition
 * @param {AbortSignal} [signal]
 * @returns {Promise<number>} the time, of `performance.now()`
 */
export async function until(title, condition, signal) {
  const deadlineMs = performance.now() + WAIT_LIMIT_MS;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error(`not within two minutes: ${title}`);
    await delay(20, undefined, signal && { signal });
  }
  return performance.now();
}
