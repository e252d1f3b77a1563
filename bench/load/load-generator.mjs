// @ts-check
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/**
 * - `closed`: each connection sends its next request as soon as it receives a response.
 * - `arrivals`: once per second, all connections open at the same time and send one request each.
 *
 * @typedef {object} Load
 * @property {'closed' | 'arrivals'} kind
 * @property {number} port
 * @property {string} request the complete HTTP message
 * @property {number} status of the responses whose latency counts
 * @property {number} connections
 * @property {number} seconds
 *
 * @typedef {object} LoadResult
 * @property {number} seconds actual duration
 * @property {Record<number, number>} statuses number of responses by status; 0: the connection closed before the response
 * @property {Float64Array} latenciesMs sorted; of arrivals, including the connection
 */

const PROGRAM = fileURLToPath(new URL('load-process.mjs', import.meta.url));

/** A process that sends load. */
export class LoadGenerator {
  #child;

  /** @param {AbortSignal} signal ends the process */
  constructor(signal) {
    this.signal = signal;
    this.#child = fork(PROGRAM, { serialization: 'advanced', signal });
    this.#child.on('error', () => undefined);
  }

  /** @param {Load} load @returns {Promise<LoadResult>} */
  async run(load) {
    this.#child.send(load);
    const [result] = await once(this.#child, 'message', { signal: this.signal });
    return result;
  }

  close() {
    this.#child.kill();
  }
}

/**
 * @param {LoadResult} result
 * @param {number} share such as 0.99
 * @returns {number} NaN if there are no latencies
 */
export function percentile({ latenciesMs }, share) {
  return latenciesMs[Math.floor(latenciesMs.length * share)] ?? NaN;
}
