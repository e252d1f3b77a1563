// @ts-check
// Reads a CSV file as a stream, so that the memory does not grow with the file.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { ImportError } from './import-error.mjs';

/** Limits the memory when a quote is not closed. */
const MAX_RECORD_BYTES = 1_000_000;

/**
 * @typedef {object} Format
 * @property {string} delimiter between values
 * @property {string} encoding a label of the WHATWG Encoding Standard
 *
 * @typedef {{ line: number, values: Record<string, string> }} Row `line` is where the row begins
 */

/**
 * @param {string} path
 * @param {Format} format
 * @param {(string | undefined)[]} columns that the header must have
 * @returns {AsyncGenerator<Row, void>} the rows below the header
 * @throws {ImportError} when a column is missing or the file is not CSV as in RFC 4180
 */
export async function* readRows(path, { delimiter, encoding }, columns) {
  let lastLine = 0;
  const parser = parse({
    delimiter,
    skip_empty_lines: true,
    max_record_size: MAX_RECORD_BYTES,
    columns: (header) => {
      checkHeader(header, columns);
      lastLine = 1;
      return header;
    },
    on_record: (/** @type {any} */ values, { lines }) => {
      lastLine = lines;
      return { line: lines - Object.values(values).join('').split('\n').length + 1, values };
    },
  });
  // An error of the source ends the loop below, because the pipeline destroys the parser with it.
  pipeline(Readable.from(readText(path, encoding)), parser, () => undefined);
  try {
    yield* parser;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    // csv-parse reports some errors at the end of the file instead of where the row begins.
    const reason = error.message.replace(/ (at|on) line \d+/, '');
    throw new ImportError(`The row after line ${lastLine} of ${path} is invalid. ${reason}`);
  }
}

/**
 * @param {string} path
 * @returns {Promise<string>} SHA-256 of the file, in hexadecimal
 */
export async function hashFile(path) {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}

/**
 * @param {string} path
 * @param {string} encoding
 * @returns {AsyncGenerator<string, void>} the text without a byte order mark. Every line ends with
 *   LF, because csv-parse counts a CRLF inside quotes as two lines.
 */
async function* readText(path, encoding) {
  const decoder = new TextDecoder(encoding);
  let rest = '';
  for await (const chunk of createReadStream(path)) {
    const text = rest + decoder.decode(chunk, { stream: true });
    rest = text.endsWith('\r') ? '\r' : '';
    yield text.slice(0, text.length - rest.length).replace(/\r\n?/g, '\n');
  }
  yield rest + decoder.decode();
}

/**
 * @param {string[]} header
 * @param {(string | undefined)[]} columns
 * @throws {ImportError}
 */
function checkHeader(header, columns) {
  for (const column of columns) {
    const count = header.filter((each) => each === column).length;
    if (column === undefined || count === 1) continue;
    const problem = count === 0 ? 'no column' : 'more than one column';
    throw new ImportError(
      `The file has ${problem} "${column}". Its columns: ${header.join(', ')}.`,
    );
  }
}
