// @ts-check
import { parseArgs } from 'node:util';
import { PEERS } from './comparison/peers.mjs';
import { SCENARIO_NAMES } from './comparison/scenarios.mjs';

const PEER_NAMES = PEERS.map(({ name }) => name);
/** `overload` measures only the service and `node:http`. */
const ALL_SCENARIOS = [...SCENARIO_NAMES, 'overload'];

export const USAGE = `Usage: npm run bench -- [options]

Options, with defaults in parentheses:
  --scenario A,B     scenarios to measure (all): ${ALL_SCENARIOS.join(', ')}
  --peer A,B         servers to compare (all):
                     ${PEER_NAMES.join(', ')}
  --earlier FOLDER   a built checkout of an earlier commit, which is compared as the server "earlier"
  --rounds N         number of rounds (9)
  --processes N      number of processes that each server runs in, one after the other (3)
  --seconds N        length of a round per scenario and server, in seconds (2)
  --warm-up N        warm-up per process and scenario, in seconds; 0 for none (10)
  --connections N    number of connections (64)
  --animals N        animals in the database (100000)
  --output FILE      file for all figures, as JSON (reports/bench.json)
  --help             print this help`;

/** @typedef {ReturnType<typeof readOptions>} Options */

/** An option is not valid. The message is one line. */
export class UsageError extends Error {}

/**
 * Reads the command line.
 *
 * @param {string[]} args
 * @throws {UsageError}
 */
export function readOptions(args) {
  const { values } = parse(args);
  return {
    scenarios: names('scenario', ALL_SCENARIOS, values.scenario),
    peers: names('peer', PEER_NAMES, values.peer),
    earlier: values.earlier,
    rounds: wholeNumber('rounds', values.rounds),
    processes: wholeNumber('processes', values.processes),
    seconds: wholeNumber('seconds', values.seconds),
    warmUpSeconds: values['warm-up'] === '0' ? 0 : wholeNumber('warm-up', values['warm-up']),
    connections: wholeNumber('connections', values.connections),
    animals: wholeNumber('animals', values.animals),
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
        earlier: { type: 'string' },
        rounds: { type: 'string', default: '9' },
        processes: { type: 'string', default: '3' },
        seconds: { type: 'string', default: '2' },
        'warm-up': { type: 'string', default: '10' },
        connections: { type: 'string', default: '64' },
        animals: { type: 'string', default: '100000' },
        output: { type: 'string', default: 'reports/bench.json' },
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
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError(`--${option} must be a positive whole number.`);
}
