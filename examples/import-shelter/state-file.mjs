// @ts-check
// Records the rows that the service has processed. The service stores an Idempotency-Key for 24 hours,
// but an import that waits for the daily limit can take longer.

import { closeSync, createReadStream, openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { ImportError } from './import-error.mjs';

/**
 * @typedef {{ line: number, id: string }} Added
 * @typedef {{ line: number, rejected: string }} Rejected
 */

export class StateFile {
  /** The last line of the file that was processed. */
  lastLine = 0;
  added = 0;
  rejected = 0;
  #descriptor = -1;

  /**
   * Opens the state file of an import, or creates it.
   *
   * @param {string} path
   * @param {string} importId identifies the file, the address and the mapping
   * @returns {Promise<StateFile>}
   * @throws {ImportError} when it belongs to another import
   */
  static async open(path, importId) {
    const state = new StateFile();
    state.#descriptor = openSync(path, 'a');
    let isNew = true;
    for await (const line of createInterface({ input: createReadStream(path) })) {
      const entry = parseEntry(line);
      if (!isNew) state.#count(entry);
      else if (entry.importId !== importId) {
        throw new ImportError(
          `${path} belongs to an import of another file, address or mapping. Choose another --state.`,
        );
      }
      isNew = false;
    }
    if (isNew) writeSync(state.#descriptor, JSON.stringify({ importId }));
    return state;
  }

  /** @param {Added | Rejected} entry is in the file when this returns, even if the process is killed */
  add(entry) {
    // The line feed comes first, so that an incomplete line cannot damage the next one.
    writeSync(this.#descriptor, `\n${JSON.stringify(entry)}`);
    this.#count(entry);
  }

  close() {
    closeSync(this.#descriptor);
  }

  /** @param {Partial<Added & Rejected>} entry */
  #count({ line, id }) {
    if (line === undefined) return;
    this.lastLine = line;
    if (id === undefined) this.rejected += 1;
    else this.added += 1;
  }
}

/**
 * @param {string} line
 * @returns {any} an empty object if the line is incomplete
 */
function parseEntry(line) {
  try {
    return JSON.parse(line) ?? {};
  } catch {
    return {};
  }
}
