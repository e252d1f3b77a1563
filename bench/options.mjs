// @ts-check
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

export const USAGE = `Usage: npm run bench -- [options]
  --scenario A,B     only these; all by default. The names are in bench/comparison/scenarios.mjs, and: start, counters, overload
  --peer A,B         only these; all by default. The names are in bench/comparison/peers.mjs
  --rounds N         rounds, interleaved (9)
  --processes N      new processes of each peer during the rounds (3)
  --seconds N        how long each is asked in a round (2)
  --warm-up N        and how long each process before, until V8 has compiled what is used; 0: not (10)
  --connections N    connections of the client: enough that every peer is busy (64)
  --animals N        animals in the store (100000)
  --client NAME      wrk or autocannon; by default wrk where it is on the PATH
  --output FOLDER    where bench.json and bench.svg go (reports)`;

/**
 * @typedef {object} Options
 * @property {string[] | undefined} scenarios undefined: all
 * @property {string[] | undefined} peers undefined: all
 * @property {number} rounds
 * @property {number} processes
 * @property {number} seconds
 * @property {number} warmUpSeconds
 * @property {number} connections
 * @property {number} animals
 * @property {'wrk' | 'autocannon'} client
 * @property {string} output
 */

/** Wrong usage; the message is one line. */
export class UsageError extends Error {}

/**
 * Reads the command line.
 *
 * @param {string[]} args
 * @returns {Options}
 * @throws {UsageError}
 */
export function readOptions(args) {
  const { values } = parse(args);
  return {
    scenarios: values.scenario?.split(','),
    peers: values.peer?.split(','),
    rounds: wholeNumber('rounds', values.rounds),
    processes: wholeNumber('processes', values.processes),
    seconds: positive('seconds', values.seconds),
    warmUpSeconds: values['warm-up'] === '0' ? 0 : positive('warm-up', values['warm-up']),
    connections: wholeNumber('connections', values.connections),
    animals: wholeNumber('animals', values.animals),
    client: chooseClient(values.client),
    output: values.output,
  };
}

/** @param {string[]} args */
function parse(args) {
  try {
    return parseArgs({
      args,
      options: {
        scenario: { type: 'string' },
        peer: { type: 'string' },
        rounds: { type: 'string', default: '9' },
        processes: { type: 'string', default: '3' },
        seconds: { type: 'string', default: '2' },
        'warm-up': { type: 'string', default: '10' },
        connections: { type: 'string', default: '64' },
        animals: { type: 'string', default: '100000' },
        client: { type: 'string' },
        output: { type: 'string', default: 'reports' },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/**
 * @param {string} name
 * @param {string} text
 */
function wholeNumber(name, text) {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`--${name} takes a number from 1 on.`);
  return Number(text);
}

/**
 * @param {string} name
 * @param {string} text
 */
function positive(name, text) {
  if (!/^\d{1,4}(?:\.\d{1,3})?$/.test(text) || Number(text) === 0) {
    throw new UsageError(`--${name} takes a number such as 3 or 0.5.`);
  }
  return Number(text);
}

/** @param {string | undefined} name @returns {'wrk' | 'autocannon'} wrk, where there is one */
function chooseClient(name) {
  if (name === 'wrk' || name === 'autocannon') return name;
  if (name !== undefined) throw new UsageError('--client takes wrk or autocannon.');
  return spawnSync('wrk', ['--version'], { stdio: 'ignore' }).error ? 'autocannon' : 'wrk';
}
