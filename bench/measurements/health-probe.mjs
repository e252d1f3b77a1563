// @ts-check
import { Agent, get } from 'node:http';
import { residentBytes } from './process-usage.mjs';

const INTERVAL_MS = 100;
const PROBE_LIMIT_MS = 20_000;

/**
 * Sends `GET /health/live` ten times per second, on a new and on an open connection, and reads the
 * service's memory.
 */
export class HealthWatch {
  #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  /** @type {Promise<number>[]} */
  #onNew = [];
  /** @type {Promise<number>[]} */
  #onOpen = [];
  #residentBytes = 0;

  /** @param {number} port @param {number} pid of the service */
  constructor(port, pid) {
    this.timer = setInterval(() => {
      this.#onNew.push(probe(port, false));
      this.#onOpen.push(probe(port, this.#agent));
      this.#residentBytes = Math.max(this.#residentBytes, residentBytes(pid));
    }, INTERVAL_MS);
  }

  /**
   * Returns the slowest response on each kind of connection, in milliseconds (Infinity when one
   * failed), and the largest resident memory, in bytes.
   */
  async stop() {
    clearInterval(this.timer);
    const [onNew, onOpen] = await Promise.all([
      Promise.all(this.#onNew),
      Promise.all(this.#onOpen),
    ]);
    this.#agent.destroy();
    return {
      newConnectionMs: Math.max(...onNew),
      openConnectionMs: Math.max(...onOpen),
      residentBytes: this.#residentBytes,
    };
  }
}

/** @param {number} port @param {Agent | false} agent @returns {Promise<number>} */
function probe(port, agent) {
  const startedAtMs = performance.now();
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(PROBE_LIMIT_MS);
    const request = get({ host: '127.0.0.1', port, path: '/health/live', agent, signal });
    request.once('error', () => resolve(Infinity));
    request.once('response', (response) => {
      response.resume().once('end', () => {
        resolve(response.statusCode === 200 ? performance.now() - startedAtMs : Infinity);
      });
    });
  });
}
