// @ts-check
// The journal of an import. The first line identifies the import. Each further line is a finished row.
// Lines are only appended, so that a kill at any time loses no finished row.

import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ImportError } from './import-error.mjs';

const FORMAT = 'import-shelter/1';
/** A crash of the machine may lose the end of this period. A crash of the process loses nothing. */
const SYNC_EVERY_MS = 250;

/**
 * @typedef {object} ImportIdentity
 * @property {number} bytes of the file
 * @property {string} sha256 of the file, in hexadecimal
 * @property {string} url base address
 * @property {import('./mapping.mjs').Mapping} mapping
 *
 * @typedef {{ outcome: 'added', id: string } | { outcome: 'rejected', status: number, code: string,
 *   message: string }} RowOutcome
 * @typedef {RowOutcome & { row: number }} FinishedRow
 */

/**
 * @param {string} path
 * @param {ImportIdentity} identity of this import
 * @returns {{ rows: FinishedRow[], completeBytes: number } | null} null if the file does not exist;
 *   `completeBytes` is the length without a truncated last line
 * @throws {ImportError} when it belongs to another file, address or mapping
 */
export function readJournal(path, identity) {
  if (!fs.existsSync(path)) return null;
  const content = fs.readFileSync(path);
  const completeBytes = content.lastIndexOf('\n') + 1;
  const [header = '', ...lines] = content.subarray(0, completeBytes).toString().split('\n');
  lines.pop(); // after the last line feed
  checkHeader(path, header, identity);
  const rows = lines.map((line, index) => {
    const entry = parsed(line);
    if (Number.isInteger(entry?.row)) return /** @type {FinishedRow} */ (entry);
    throw new ImportError(`${path}, line ${index + 2}: not a line of a state file`);
  });
  return { rows, completeBytes };
}

/** An open journal. */
export class Journal {
  /** Rows that earlier runs finished. */
  finished;
  #descriptor;
  #hasUnsynced = false;
  #timer;

  /**
   * Opens the journal, or creates it.
   * @param {string} path
   * @param {ImportIdentity} identity
   * @throws {ImportError} when it belongs to another file, address or mapping
   */
  constructor(path, identity) {
    const existing = readJournal(path, identity);
    if (existing) fs.truncateSync(path, existing.completeBytes);
    else begin(path, identity);
    this.finished = existing?.rows ?? [];
    this.#descriptor = fs.openSync(path, 'a');
    this.#timer = setInterval(() => this.#sync(), SYNC_EVERY_MS).unref();
  }

  /** @param {FinishedRow} entry written before this returns, durable after 250 ms or `close` */
  add(entry) {
    fs.writeSync(this.#descriptor, `${JSON.stringify(entry)}\n`);
    this.#hasUnsynced = true;
  }

  close() {
    clearInterval(this.#timer);
    this.#sync();
    fs.closeSync(this.#descriptor);
  }

  #sync() {
    if (!this.#hasUnsynced) return;
    this.#hasUnsynced = false;
    fs.fsyncSync(this.#descriptor);
  }
}

/**
 * Writes the first line to a temporary file that is then renamed, so that it is never incomplete.
 * @param {string} path
 * @param {ImportIdentity} identity
 */
function begin(path, identity) {
  const draft = `${path}.new`;
  fs.writeFileSync(draft, `${JSON.stringify(headerOf(identity))}\n`, { flush: true });
  fs.renameSync(draft, path);
  if (process.platform === 'win32') return; // a folder cannot be opened there
  const folder = fs.openSync(dirname(path), 'r');
  fs.fsyncSync(folder);
  fs.closeSync(folder);
}

/** @param {ImportIdentity} identity */
function headerOf({ bytes, sha256, url, mapping }) {
  const { categoryMap, statusMap, ...rest } = mapping;
  const maps = { categoryMap: [...categoryMap].sort(), statusMap: [...statusMap].sort() };
  return { format: FORMAT, file: { bytes, sha256 }, url, mapping: { ...rest, ...maps } };
}

/**
 * @param {string} path
 * @param {string} line
 * @param {ImportIdentity} identity
 * @throws {ImportError}
 */
function checkHeader(path, line, identity) {
  const found = parsed(line);
  const expected = headerOf(identity);
  if (found?.format !== FORMAT) {
    throw new ImportError(`${path} is not a state file of this importer`);
  }
  const problem = !isSame(found.file, expected.file)
    ? 'belongs to another file, or this one has changed'
    : found.url !== expected.url
      ? `belongs to an import to ${found.url}`
      : !isSame(found.mapping, expected.mapping) &&
        'was begun with other mappings of columns or values';
  if (problem) throw new ImportError(`${path} ${problem}; name another state file with --state`);
}

/**
 * @param {object} left as read from JSON
 * @param {object} right
 * @returns {boolean}
 */
function isSame(left, right) {
  const written = JSON.parse(JSON.stringify(right)); // without undefined members
  return isDeepStrictEqual(left, written);
}

/**
 * @param {string} line
 * @returns {any} undefined if it is not JSON
 */
function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
