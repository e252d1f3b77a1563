// @ts-check
// The command line of import.mjs and compare.mjs.

import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { ImportError } from './import-error.mjs';
import { PET_STATUSES, PRESETS, isInteger, parseValueMap } from './mapping.mjs';

/**
 * @typedef {object} SharedOptions
 * @property {string} file path
 * @property {URL} url base address without the `v1`
 * @property {string} key API key, which must not be printed
 * @property {import('./mapping.mjs').Mapping} mapping
 * @property {import('./shelter-file.mjs').CsvFormat} format
 * @property {string} state path of the state file
 * @property {number} limitRows Infinity by default
 * @property {number} tries
 * @property {boolean} quiet
 * @property {boolean} json
 *
 * @typedef {SharedOptions & { concurrency: number }} ImportOptions
 * @typedef {SharedOptions & { others: number | undefined }} CompareOptions
 */

/**
 * @param {string} message
 * @returns {ImportError}
 */
const usageError = (message) => new ImportError(message, 2);

const SHARED_HELP = `
Where to:
  --url URL                 base address without /v1 (http://127.0.0.1:3000)
  --key KEY                 API key; prefer the environment variable API_KEY,
                            which other users of the computer cannot see

Columns and values:
  --preset austin           the options below for the Austin Animal Center's file
  --name COLUMN             column of the animal's name
  --name-default NAME       name of rows with a blank name, which the service
                            rejects otherwise
  --category COLUMN         column of its category
  --category-map MAP        numbers for its values, as in "Dog=1,Cat=2"
  --category-default N      for a value without a number, or without the column
  --status COLUMN           column of its status
  --status-map MAP          statuses for its values, as in "Adoption=sold"
  --status-default STATUS   for a value without a status, or without the column
                            (available)
  --delimiter CHARACTER     between values (,)
  --encoding NAME           of the file, as in windows-1252 (utf-8)

How:
  --state FILE              journal of the import
                            (FILE.import.jsonl in the current folder)
  --limit-rows N            only the first N rows
  --tries N                 maximum attempts of a request while the service is
                            unreachable (8)
  --quiet                   do not show the progress
  --json                    print the result as JSON
  --help`;

export const IMPORT_HELP = `Adds the animals of a CSV file to the store.

  npm run example:import -- FILE [options]
${SHARED_HELP}
  --concurrency N           requests at the same time (4)

Exit code: 0 every row was sent, including rejected ones, 1 stopped early,
2 usage error, 130 interrupted. Run the same command again to continue.`;

export const COMPARE_HELP = `Compares the store with a CSV file that import.mjs added to it.

  node examples/import-shelter/compare.mjs FILE [the options of the import]
${SHARED_HELP}
  --others N                expected number of animals from other sources

Exit code: 0 no difference, 1 a difference or stopped early, 2 usage error.`;

/** @type {import('node:util').ParseArgsConfig['options']} */
const SHARED = {
  url: { type: 'string' },
  key: { type: 'string' },
  preset: { type: 'string' },
  name: { type: 'string' },
  'name-default': { type: 'string' },
  category: { type: 'string' },
  'category-map': { type: 'string' },
  'category-default': { type: 'string' },
  status: { type: 'string' },
  'status-map': { type: 'string' },
  'status-default': { type: 'string' },
  delimiter: { type: 'string' },
  encoding: { type: 'string' },
  state: { type: 'string' },
  'limit-rows': { type: 'string' },
  tries: { type: 'string' },
  quiet: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
};

/** @typedef {Record<string, string | boolean | undefined>} Values */

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} environment
 * @returns {ImportOptions | 'help'}
 * @throws {ImportError}
 */
export function parseImportOptions(args, environment) {
  const { values, positionals } = parse(args, { concurrency: { type: 'string' } });
  if (values.help) return 'help';
  const concurrency = wholeNumber(values, 'concurrency', 1, 100) ?? 4;
  return { ...sharedOptions(values, positionals, environment), concurrency };
}

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} environment
 * @returns {CompareOptions | 'help'}
 * @throws {ImportError}
 */
export function parseCompareOptions(args, environment) {
  const { values, positionals } = parse(args, { others: { type: 'string' } });
  if (values.help) return 'help';
  const others = wholeNumber(values, 'others', 0, Number.MAX_SAFE_INTEGER);
  return { ...sharedOptions(values, positionals, environment), others };
}

/**
 * @param {string[]} args
 * @param {import('node:util').ParseArgsConfig['options']} options in addition to the shared ones
 * @returns {{ values: Values, positionals: string[] }}
 * @throws {ImportError}
 */
function parse(args, options) {
  try {
    const { values, positionals } = parseArgs({
      args,
      options: { ...SHARED, ...options },
      allowPositionals: true,
    });
    return { values: /** @type {Values} */ (values), positionals };
  } catch (error) {
    // Some messages of parseArgs have several lines. None contains a value.
    throw usageError(/** @type {Error} */ (error).message.replace(/\n.*/s, ''));
  }
}

/**
 * @param {Values} values
 * @param {string[]} positionals
 * @param {NodeJS.ProcessEnv} environment
 * @returns {SharedOptions}
 * @throws {ImportError}
 */
function sharedOptions(values, positionals, environment) {
  const [file, ...more] = positionals;
  // Do not print extra arguments, which may be a key without its option.
  if (file === undefined || more.length > 0) throw usageError('expected one FILE; see --help');
  return {
    file,
    url: baseAddress(text(values, 'url') ?? 'http://127.0.0.1:3000'),
    key: apiKey(text(values, 'key') ?? environment.API_KEY),
    mapping: mappingOf(values),
    format: csvFormat(values),
    state: text(values, 'state') ?? `${basename(file)}.import.jsonl`,
    limitRows: wholeNumber(values, 'limit-rows', 1, Number.MAX_SAFE_INTEGER) ?? Infinity,
    tries: wholeNumber(values, 'tries', 1, 100) ?? 8,
    quiet: values.quiet === true,
    json: values.json === true,
  };
}

/**
 * @param {string} value
 * @returns {URL}
 * @throws {ImportError}
 */
function baseAddress(value) {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw usageError('--url must be an address such as http://127.0.0.1:3000');
  }
  if (url.username || url.password || url.search || url.hash) {
    throw usageError('--url must be an address without user, password, query and fragment');
  }
  if (/\/v1\/?$/.test(url.pathname)) throw usageError('--url must be the address without /v1');
  return url;
}

/**
 * @param {string | undefined} value
 * @returns {string}
 * @throws {ImportError} without the key
 */
function apiKey(value) {
  if (!value) throw usageError('an API key is required; set API_KEY or --key');
  if (!/^[\u0021-\u007e]+$/.test(value)) {
    throw usageError('the API key has characters that an API key cannot have');
  }
  return value;
}

/**
 * @param {Values} values
 * @returns {import('./mapping.mjs').Mapping}
 * @throws {ImportError}
 */
function mappingOf(values) {
  const presetName = text(values, 'preset');
  if (presetName !== undefined && !Object.hasOwn(PRESETS, presetName)) {
    throw usageError(`--preset must be one of: ${Object.keys(PRESETS).join(', ')}`);
  }
  const preset = presetName === undefined ? undefined : PRESETS[presetName];
  const name = text(values, 'name') ?? preset?.name;
  const category = text(values, 'category') ?? preset?.category;
  const categoryDefault = text(values, 'category-default');
  if (name === undefined) throw usageError('--name or --preset is required');
  if (category === undefined && categoryDefault === undefined) {
    throw usageError('--category, --category-default or --preset is required');
  }
  const mapping = {
    name,
    nameDefault: text(values, 'name-default'),
    category,
    status: text(values, 'status') ?? preset?.status,
    categoryMap: valueMap(values, 'category-map', preset?.categoryMap),
    statusMap: valueMap(values, 'status-map', preset?.statusMap),
    categoryDefault,
    statusDefault: text(values, 'status-default') ?? preset?.statusDefault ?? 'available',
  };
  const categories = [...mapping.categoryMap.values(), categoryDefault ?? '0'];
  if (!categories.every(isInteger)) {
    throw usageError('--category-map and --category-default must be whole numbers');
  }
  const statuses = [...mapping.statusMap.values(), mapping.statusDefault];
  if (!statuses.every((status) => PET_STATUSES.includes(status))) {
    throw usageError(`--status-map and --status-default must be one of ${PET_STATUSES.join(', ')}`);
  }
  return mapping;
}

/**
 * @param {Values} values
 * @param {string} option
 * @param {string} [preset]
 * @returns {Map<string, string>}
 * @throws {ImportError}
 */
function valueMap(values, option, preset = '') {
  try {
    return parseValueMap(text(values, option) ?? preset);
  } catch (error) {
    throw usageError(`--${option}: ${/** @type {Error} */ (error).message}`);
  }
}

/**
 * @param {Values} values
 * @returns {import('./shelter-file.mjs').CsvFormat}
 * @throws {ImportError}
 */
function csvFormat(values) {
  const delimiter = text(values, 'delimiter');
  if (delimiter !== undefined && (delimiter.length !== 1 || '"\r\n'.includes(delimiter))) {
    throw usageError('--delimiter must be one character');
  }
  const encoding = text(values, 'encoding');
  try {
    if (encoding !== undefined) new TextDecoder(encoding);
  } catch {
    throw usageError('--encoding must be a name such as utf-8 or windows-1252');
  }
  return { delimiter, encoding };
}

/**
 * @param {Values} values
 * @param {string} option
 * @param {number} least
 * @param {number} most
 * @returns {number | undefined}
 * @throws {ImportError}
 */
function wholeNumber(values, option, least, most) {
  const value = text(values, option);
  if (value === undefined) return undefined;
  const number = /^\d+$/.test(value) ? Number(value) : NaN;
  if (!(number >= least && number <= most)) {
    const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`;
    throw usageError(`--${option} must be a whole number ${range}`);
  }
  return number;
}

/**
 * @param {Values} values
 * @param {string} option
 * @returns {string | undefined}
 */
function text(values, option) {
  const value = values[option];
  return typeof value === 'string' ? value : undefined;
}
