// @ts-check
// The command line of import.mjs.

import { basename } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { AUSTIN, isCategoryId, isStatus } from './mapping.mjs';

/**
 * @typedef {object} Run
 * @property {string} file path
 * @property {string} url base address without `v1`
 * @property {string} apiKey
 * @property {string} state path of the state file
 * @property {boolean} [skipUnmapped]
 * @property {boolean} [dryRun]
 * @property {number} [limit] most rows to send
 *
 * @typedef {Run & import('./mapping.mjs').Mapping & import('./shelter-file.mjs').Format} Options
 */

const AFTER_HELP = `
Set the environment variable API_KEY to an API key of the store.
In a map, "*" stands for all other values: --category-map Dog=1 "Guinea pig=2" "*=3"

Exit code: 0 success, 1 stopped early or rows were rejected, 2 usage error,
130 or 143 interrupted.`;

/**
 * Ends the process after --help, and after a usage error with exit code 2.
 *
 * @param {string[]} args
 * @param {string} [apiKey]
 * @returns {Options}
 */
export function parseOptions(args, apiKey = '') {
  const program = new Command('import-shelter')
    .description("Adds the animals of a shelter's CSV file to the store.")
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
    .argument('<file>', 'CSV file with a header')
    .addOption(
      new Option(
        '--preset <name>',
        'mapping of the Austin Animal Center; other options override it',
      )
        .choices(['austin'])
        .implies(AUSTIN),
    )
    .requiredOption('--name <column>', 'column of the name')
    .option('--name-default <name>', 'name of rows with a blank name')
    .requiredOption('--category <column>', 'column of the category')
    .option('--category-map <value=number...>', 'numbers of categories', mapTo(isCategoryId))
    .option('--status <column>', 'column of the status')
    .option('--status-map <value=status...>', 'available, pending or sold', mapTo(isStatus))
    .option('--delimiter <character>', 'between values', ',')
    .option('--encoding <name>', 'such as windows-1252', parseEncoding, 'utf-8')
    .option('--skip-unmapped', 'leave out rows that cannot be mapped')
    .option('--dry-run', 'check the file and send nothing')
    .option('--limit <rows>', 'send at most this number of rows', parseCount)
    .option('--state <file>', 'progress of the import (default: FILE.import.jsonl)')
    .option('--url <url>', 'address of the store', parseUrl, 'http://127.0.0.1:3000')
    .addHelpText('after', AFTER_HELP)
    .parse(args, { from: 'user' });
  const options = program.opts();
  if (!options['dryRun'] && !/^[!-~]+$/.test(apiKey)) {
    program.error('error: set the environment variable API_KEY to an API key of the store');
  }
  const [file = ''] = program.args;
  const state = `${basename(file)}.import.jsonl`;
  return /** @type {Options} */ ({ state, ...options, file, apiKey });
}

/**
 * @param {(result: string) => boolean} isResult
 * @returns {(entry: string, map?: Map<string, string>) => Map<string, string>} adds `Dog=1` to a map
 */
function mapTo(isResult) {
  return (entry, map = new Map()) => {
    const equals = entry.lastIndexOf('=');
    const result = entry.slice(equals + 1).trim();
    if (equals === -1 || !isResult(result)) throw new InvalidArgumentError('See --help.');
    return map.set(entry.slice(0, equals).trim(), result);
  };
}

/** @param {string} text */
function parseEncoding(text) {
  try {
    return new TextDecoder(text).encoding;
  } catch {
    throw new InvalidArgumentError('Unknown encoding.');
  }
}

/** @param {string} text */
function parseCount(text) {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('Expected a positive integer.');
  return Number(text);
}

/** @param {string} text */
function parseUrl(text) {
  if (!/^https?:/.test(text) || !URL.canParse(text)) {
    throw new InvalidArgumentError('Expected an HTTP address.');
  }
  return text.replace(/(\/v1)?\/?$/, '');
}
