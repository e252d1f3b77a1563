// @ts-check
import { Command, InvalidArgumentError, Option } from 'commander';
import { PEERS } from './comparison/peers.mjs';
import { SCENARIO_NAMES } from './comparison/scenarios.mjs';

const PEER_NAMES = PEERS.map(({ name }) => name);

/**
 * @typedef {object} Options
 * @property {true} [replay]
 * @property {readonly string[]} scenario names
 * @property {readonly string[]} peer names
 * @property {string} [earlier] folder
 * @property {string} node program that runs all servers
 * @property {number} rounds
 * @property {number} processes
 * @property {number} seconds
 * @property {number} warmUp in seconds
 * @property {number} blocks
 * @property {number} connections
 * @property {number} animals
 * @property {string} output file
 */

/**
 * Reads the command line. Ends the process after --help and after an invalid option.
 *
 * @returns {Options}
 */
export function readOptions() {
  return new Command('npm run bench --')
    .description('Compares the service with other servers.')
    .option('--replay', 'measure requests through connections in memory, without PostgreSQL')
    .addOption(names('--scenario <NAMES...>', 'scenarios to measure', SCENARIO_NAMES))
    .addOption(names('--peer <NAMES...>', 'servers to compare', PEER_NAMES))
    .option('--earlier <FOLDER>', 'a built checkout of an earlier commit, compared as "earlier"')
    .option('--node <PROGRAM>', 'the Node.js that runs all servers', process.execPath)
    .option('--rounds <N>', 'number of rounds', wholeNumber, 9)
    .option('--processes <N>', 'processes per server, one after the other', wholeNumber, 3)
    .option('--seconds <N>', 'length of a round in seconds', wholeNumber, 2)
    .option('--warm-up <N>', 'seconds per process and scenario', wholeNumber, 10)
    .option('--blocks <N>', 'blocks of requests per scenario of a replay', wholeNumber, 2_500)
    .option('--connections <N>', 'number of connections', wholeNumber, 64)
    .option('--animals <N>', 'animals in the database', wholeNumber, 100_000)
    .option('--output <FILE>', 'file for all figures, as JSON', 'reports/bench.json')
    .parse()
    .opts();
}

/** @param {string} flags @param {string} description @param {readonly string[]} allowed all by default */
function names(flags, description, allowed) {
  return new Option(flags, description).choices(allowed).default(allowed, 'all');
}

/**
 * Reads the value of an option.
 *
 * @param {string} text
 * @throws {InvalidArgumentError}
 */
export function wholeNumber(text) {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number.');
}
