// @ts-check
// The journal of an import. The first line identifies the import. Each further line is a finished row.
// Lines are only appended, so that a kill at any time loses no finished row.

import { constants } from 'node:fs';
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

const FORMAT = 'import-shelter/1';
/** A crash of the machine may lose the end of this period. A crash of the process loses nothing. */
const SYNC_EVERY_MS = 250;
const LINE_FEED = 0x0a;

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

/** The state file is invalid or belongs to another import. The message is one line for the user. */
export class ResumeFileError extends Error {
  /** @override */
  name = 'ResumeFileError';
}

/**
 * @param {string} path
 * @param {ImportIdentity} identity of this import
 * @returns {{ rows: FinishedRow[], completeBytes: number } | null} null if the file does not exist;
 *   `completeBytes` is the length without a truncated last line
 * @throws {ResumeFileError}
 */
export function readResumeFile(path, identity) {
  const content = contentOf(path);
  if (content === null) return null;
  const completeBytes = content.lastIndexOf(LINE_FEED) + 1;
  const [header, ...lines] = content.subarray(0, completeBytes).toString('utf8').split('\n');
  lines.pop(); // after the last line feed
  checkHeader(path, header ?? '', identity);
  const rows = lines.map((line, index) => {
    const entry = parsed(line);
    if (!Number.isInteger(entry?.row)) {
      throw new ResumeFileError(`${path}, line ${index + 2}: not a line of a state file`);
    }
    return /** @type {FinishedRow} */ (entry);
  });
  return { rows, completeBytes };
}

/** An open journal. */
export class ResumeFile {
  /** Rows that earlier runs finished. */
  finished;
  #descriptor;
  #hasUnsynced = false;
  #timer;

  /**
   * Opens the journal, or creates it.
   * @param {string} path
   * @param {ImportIdentity} identity
   * @returns {ResumeFile}
   * @throws {ResumeFileError} when it belongs to another file, address or mapping
   */
  static open(path, identity) {
    const existing = readResumeFile(path, identity);
    if (existing) truncateSync(path, existing.completeBytes);
    else begin(path, identity);
    return new ResumeFile(path, existing?.rows ?? []);
  }

  /**
   * @private use `open`
   * @param {string} path
   * @param {FinishedRow[]} finished
   */
  constructor(path, finished) {
    this.finished = finished;
    this.#descriptor = openSync(path, constants.O_WRONLY | constants.O_APPEND);
    this.#timer = setInterval(() => this.#sync(), SYNC_EVERY_MS);
    this.#timer.unref();
  }

  /** @param {FinishedRow} entry written before this returns, durable after 250 ms or `close` */
  add(entry) {
    writeSync(this.#descriptor, `${JSON.stringify(entry)}\n`);
    this.#hasUnsynced = true;
  }

  close() {
    clearInterval(this.#timer);
    this.#sync();
    closeSync(this.#descriptor);
  }

  #sync() {
    if (!this.#hasUnsynced) return;
    this.#hasUnsynced = false;
    fsyncSync(this.#descriptor);
  }
}

/**
 * Writes the first line atomically: to a temporary file that is then renamed.
 * @param {string} path
 * @param {ImportIdentity} identity
 */
function begin(path, identity) {
  const draft = `${path}.new`;
  const descriptor = openSync(draft, 'w');
  writeSync(descriptor, `${JSON.stringify(headerOf(identity))}\n`);
  fsyncSync(descriptor);
  closeSync(descriptor);
  renameSync(draft, path);
  syncFolder(dirname(path));
}

/** @param {string} path */
function syncFolder(path) {
  if (process.platform === 'win32') return; // a folder cannot be opened there
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/** @param {ImportIdentity} identity */
function headerOf({ bytes, sha256, url, mapping }) {
  return {
    format: FORMAT,
    file: { bytes, sha256 },
    url,
    mapping: {
      ...mapping,
      categoryMap: [...mapping.categoryMap].sort(),
      statusMap: [...mapping.statusMap].sort(),
    },
  };
}

/**
 * @param {string} path
 * @param {string} line
 * @param {ImportIdentity} identity
 * @throws {ResumeFileError}
 */
function checkHeader(path, line, identity) {
  const found = parsed(line);
  if (found?.format !== FORMAT)
    throw new ResumeFileError(`${path} is not a state file of this importer`);
  const expected = headerOf(identity);
  const advice = 'name another state file with --state';
  if (!isSame(found.file, expected.file)) {
    throw new ResumeFileError(
      `${path} belongs to another file, or this one has changed; ${advice}`,
    );
  }
  if (found.url !== expected.url) {
    throw new ResumeFileError(`${path} belongs to an import to ${found.url}; ${advice}`);
  }
  if (!isSame(found.mapping, expected.mapping)) {
    throw new ResumeFileError(
      `${path} was begun with other mappings of columns or values; ${advice}`,
    );
  }
}

/**
 * @param {unknown} left as read from JSON
 * @param {unknown} right
 * @returns {boolean}
 */
function isSame(left, right) {
  return JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));
}

/**
 * @param {unknown} value
 * @returns {unknown} an object's members in the order of their names
 */
function sorted(value) {
  return value && typeof value === 'object'
    ? Object.entries(value)
        .filter(([, member]) => member !== undefined)
        .sort()
    : value;
}

/**
 * @param {string} path
 * @returns {Buffer | null}
 */
function contentOf(path) {
  try {
    return readFileSync(path);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return null;
    throw error;
  }
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
