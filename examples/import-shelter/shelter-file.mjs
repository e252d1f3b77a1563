// @ts-check
// The shelter's file: its identity, and its rows as animals.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readTable } from './csv-reader.mjs';
import { createMapper } from './mapping.mjs';

/**
 * @typedef {import('./csv-reader.mjs').CsvFormat} CsvFormat
 * @typedef {import('./mapping.mjs').Mapping} Mapping
 * @typedef {import('./mapping.mjs').MappedRow} MappedRow
 *
 * @typedef {object} Survey
 * @property {number} bytes
 * @property {string} sha256 of the content, in hexadecimal
 * @property {number} rows without the header, at most `limitRows`
 * @property {Map<string, number>} unmappedCategories value → rows
 * @property {Map<string, number>} unmappedStatuses value → rows
 */

/**
 * Reads the whole file before the first request. This finds an invalid line before any animal is
 * added, and counts the rows.
 * @param {string} path
 * @param {Mapping} mapping
 * @param {CsvFormat} format
 * @param {number} limitRows
 * @returns {Promise<Survey>}
 * @throws {import('./csv-reader.mjs').CsvError}
 * @throws {import('./mapping.mjs').MappingError}
 */
export async function surveyFile(path, mapping, format, limitRows) {
  const hash = createHash('sha256');
  let bytes = 0;
  async function* hashed() {
    for await (const chunk of createReadStream(path)) {
      hash.update(chunk);
      bytes += chunk.length;
      yield /** @type {Uint8Array} */ (chunk);
    }
  }
  const { columns, rows } = await readTable(hashed(), format);
  const map = createMapper(columns, mapping);
  /** @type {Map<string, number>} */
  const unmappedCategories = new Map();
  /** @type {Map<string, number>} */
  const unmappedStatuses = new Map();
  let count = 0;
  for await (const { row, values } of rows) {
    if (row > limitRows) continue;
    count = row;
    const { unmappedCategory, unmappedStatus } = map(values);
    if (unmappedCategory !== undefined) increment(unmappedCategories, unmappedCategory);
    if (unmappedStatus !== undefined) increment(unmappedStatuses, unmappedStatus);
  }
  return { bytes, sha256: hash.digest('hex'), rows: count, unmappedCategories, unmappedStatuses };
}

/**
 * @param {string} path
 * @param {Mapping} mapping
 * @param {CsvFormat} format
 * @param {number} limitRows
 * @returns {AsyncGenerator<{ row: number, pet: import('./mapping.mjs').NewPet }, void>} the first
 *   rows, in the file's order
 */
export async function* readPets(path, mapping, format, limitRows) {
  const { columns, rows } = await readTable(createReadStream(path), format);
  const map = createMapper(columns, mapping);
  for await (const { row, values } of rows) {
    if (row > limitRows) return;
    yield { row, pet: map(values).pet };
  }
}

/**
 * Returns the same key for the same row of the same file in every run, so that a service that
 * supports the Idempotency-Key header adds the row once.
 * @param {string} sha256 of the file
 * @param {number} row
 * @returns {string} 64 hexadecimal digits
 */
export function idempotencyKey(sha256, row) {
  return createHash('sha256').update(`${sha256}:${row}`).digest('hex');
}

/**
 * @param {Map<string, number>} counts
 * @param {string} value
 */
function increment(counts, value) {
  counts.set(value, (counts.get(value) ?? 0) + 1);
}
