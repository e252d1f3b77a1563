// @ts-check
// Reads the animals of a CSV file. Anything that RFC 4180 does not allow is an error, because a
// guess could shift the values of the remaining file into wrong columns.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CsvError, parse } from 'csv-parse/sync';
import { ImportError } from './import-error.mjs';
import { createMapper } from './mapping.mjs';

/**
 * @typedef {object} CsvFormat
 * @property {string | undefined} [delimiter] one character between values; a comma by default
 * @property {string | undefined} [encoding] a label of the WHATWG Encoding Standard; `utf-8` by
 *   default
 *
 * @typedef {object} ShelterFile
 * @property {number} bytes
 * @property {string} sha256 in hexadecimal
 * @property {import('./mapping.mjs').NewPet[]} pets row 1 is the first record below the header
 * @property {Map<string, number>} unmappedCategories value → rows, sent unchanged
 * @property {Map<string, number>} unmappedStatuses value → rows, sent with the default
 */

const RECORD_DELIMITERS = ['\r\n', '\n', '\r'];
/** @type {Record<string, string>} */
const REASONS = {
  INVALID_OPENING_QUOTE: 'a quote inside a value that does not begin with one',
  CSV_INVALID_CLOSING_QUOTE: 'text after the quote that ends a value',
  CSV_QUOTE_NOT_CLOSED: 'a quoted value begins here and does not end',
};

/**
 * @param {string} path
 * @param {import('./mapping.mjs').Mapping} mapping
 * @param {CsvFormat} format
 * @param {number} limitRows
 * @returns {ShelterFile} the first rows
 * @throws {ImportError} for an invalid file, even below the first rows
 */
export function readShelterFile(path, mapping, format, limitRows) {
  const content = readFileSync(path);
  const [columns, ...records] = readRecords(content, format);
  if (columns === undefined)
    throw new ImportError('line 1: the file is empty; a header is required');
  const map = createMapper(columns.values, mapping);
  /** @type {ShelterFile} */
  const file = {
    bytes: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
    pets: [],
    unmappedCategories: new Map(),
    unmappedStatuses: new Map(),
  };
  for (const { line, values } of records) {
    const isEmptyLine = values.length === 1 && values[0] === '';
    if (isEmptyLine && columns.values.length > 1) continue;
    if (values.length !== columns.values.length) {
      const expected = `the header has ${columns.values.length}`;
      throw new ImportError(`line ${line()}: ${values.length} values, but ${expected}`);
    }
    if (file.pets.length === limitRows) continue;
    const { pet, unmappedCategory, unmappedStatus } = map(values);
    file.pets.push(pet);
    increment(file.unmappedCategories, unmappedCategory);
    increment(file.unmappedStatuses, unmappedStatus);
  }
  return file;
}

/**
 * @param {Buffer} content of the file; a byte order mark is skipped
 * @param {CsvFormat} [format]
 * @returns {{ line: () => number, values: string[] }[]} all records and the lines where they begin
 * @throws {ImportError} with the line
 */
export function readRecords(content, { delimiter = ',', encoding = 'utf-8' } = {}) {
  const text = Buffer.from(decode(content, encoding));
  const lineAt = (/** @type {number} */ bytes) => lineOf(text.subarray(0, bytes).toString());
  const options = { delimiter, record_delimiter: RECORD_DELIMITERS };
  try {
    /** @type {any} its type does not know the option `info` */
    const parsed = parse(text, { ...options, relax_column_count: true, info: true });
    /** @type {{ record: string[], info: { bytes: number } }[]} */
    const records = parsed;
    return records.map(({ record }, index) => ({
      line: () => lineAt(records[index - 1]?.info.bytes ?? 0),
      values: record,
    }));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new ImportError(
      `line ${lineAt(Number(error['bytes']))}: ${REASONS[error.code] ?? error.message}`,
    );
  }
}

/**
 * @param {Buffer} content
 * @param {string} encoding
 * @returns {string}
 * @throws {ImportError} with the line of the first invalid byte
 */
function decode(content, encoding) {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(content);
  } catch {
    const [valid = ''] = new TextDecoder(encoding).decode(content).split('\ufffd', 1);
    throw new ImportError(`line ${lineOf(valid)}: not ${encoding} text; set --encoding`);
  }
}

/**
 * @param {string} text from the start of the file
 * @returns {number} the line after it, from 1
 */
function lineOf(text) {
  return text.split(/\r\n|\n|\r/).length;
}

/**
 * @param {Map<string, number>} counts
 * @param {string | undefined} value
 */
function increment(counts, value) {
  if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
}
