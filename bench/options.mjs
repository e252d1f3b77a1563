// @ts-check
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { PEERS } from './comparison/peers.mjs';
import { SCENARIO_NAMES } from './comparison/scenarios.mjs';

const PEER_NAMES = PEERS.map(({ name }) => name);
/** `start`, `counters` and `overload` measure only the service. */
const ALL_SCENARIOS = [...SCENARIO_NAMES, 'start', 'counters', 'overload'];

export const USAGE = `Usage: npm run bench -- [options]

Options, with defaults in parentheses:
  --scenario A,B     scenarios to measure (all):
                     ${lines(ALL_SCENARIOS)}
  --peer A,B         servers to compare (all):
                     ${lines(PEER_NAMES)}
  --rounds N         number of rounds (9)
  --processes N      number of processes that each server runs in, one after the other (3)
  --seconds N        length of a round per scenario and server, in seconds (2)
  --warm-up N        warm-up per process and scenario, in seconds; 0 for none (10)
  --connections N    connections of the load client (64)
  --animals N        animals in the database (100000)
  --client NAME      load client: wrk or autocannon (wrk if it is installed)
  --output FOLDER    folder for bench.json and bench.svg (reports)
  --help             print this help`;

/**
 * @typedef {object} Options
 * @property {readonly string[]} scenarios names
 * @property {readonly string[]} peers names
 * @property {number} rounds
 * @property {number} processes
 * @property {number} seconds
 * @property {number} warmUpSeconds
 * @property {number} connections
 * @property {number} animals
 * @property {'wrk' | 'autocannon'} client
 * @property {string} output a folder
 */

/** An option is not valid. The message is one line. */
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
    scenarios: names('scenario', ALL_SCENARIOS, values.scenario),
    peers: names('peer', PEER_NAMES, values.peer),
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
 * @param {string} option
 * @param {readonly string[]} allowed
 * @param {string | undefined} text undefined: all
 */
function names(option, allowed, text) {
  const chosen = text?.split(',') ?? allowed;
  const unknown = chosen.find((name) => !allowed.includes(name));
  if (unknown === undefined) return chosen;
  throw new UsageError(`--${option}: unknown name "${unknown}". Expected ${allowed.join(', ')}.`);
}

/**
 * @param {string} option
 * @param {string} text
 */
function wholeNumber(option, text) {
  if (!/^[1-9]\d{0,8}$/.test(text)) {
    throw new UsageError(`--${option} must be a positive whole number.`);
  }
  return Number(text);
}

/**
 * @param {string} option
 * @param {string} text
 */
function positive(option, text) {
  if (!/^\d{1,4}(?:\.\d{1,3})?$/.test(text) || Number(text) === 0) {
    throw new UsageError(`--${option} must be a positive number, such as 3 or 0.5.`);
  }
  return Number(text);
}

/** @param {string | undefined} name @returns {'wrk' | 'autocannon'} */
function chooseClient(name) {
  if (name === 'wrk' || name === 'autocannon') return name;
  if (name !== undefined) throw new UsageError('--client must be wrk or autocannon.');
  return spawnSync('wrk', ['--version'], { stdio: 'ignore' }).error ? 'autocannon' : 'wrk';
}

/** @param {readonly string[]} values @returns {string} the values over indented lines of six */
function lines(values) {
  const rows = [];
  for (let at = 0; at < values.length; at += 6) rows.push(values.slice(at, at + 6).join(', '));
  return rows.join(`,\n${' '.repeat(21)}`);
}
