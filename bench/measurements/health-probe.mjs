// @ts-check
import { Agent, get } from 'node:http';
import { residentBytes } from './process-usage.mjs';

const INTERVAL_MS = 100;
const RESPONSE_LIMIT_MS = 20_000;

/**
 * Sends `GET /health/live` ten times per second on a new and on an open connection, and reads the
 * memory of the service.
 */
export class HealthProbe {
  #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  /** @type {Promise<number>[]} */
  #newConnectionMs = [];
  /** @type {Promise<number>[]} */
  #openConnectionMs = [];
  #maxResidentBytes = 0;

  /** @param {number} port @param {number} pid of the service */
  constructor(port, pid) {
    this.timer = setInterval(() => {
      this.#newConnectionMs.push(latencyMs(port, false));
      this.#openConnectionMs.push(latencyMs(port, this.#agent));
      this.#maxResidentBytes = Math.max(this.#maxResidentBytes, residentBytes(pid));
    }, INTERVAL_MS);
  }

  /**
   * Returns the highest latency on each kind of connection in milliseconds, and the largest resident
   * memory in bytes. A latency is Infinity if a request failed.
   */
  async stop() {
    clearInterval(this.timer);
    const [newConnectionMs, openConnectionMs] = await Promise.all([
      Promise.all(this.#newConnectionMs),
      Promise.all(this.#openConnectionMs),
    ]);
    this.#agent.destroy();
    return {
      newConnectionMs: Math.max(...newConnectionMs),
      openConnectionMs: Math.max(...openConnectionMs),
      maxResidentBytes: this.#maxResidentBytes,
    };
  }
}

/** @param {number} port @param {Agent | false} agent @returns {Promise<number>} */
function latencyMs(port, agent) {
  const startedAtMs = performance.now();
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(RESPONSE_LIMIT_MS);
    const request = get({ host: '127.0.0.1', port, path: '/health/live', agent, signal });
    request.once('error', () => resolve(Infinity));
    request.once('response', (response) => {
      response.resume().once('end', () => {
        resolve(response.statusCode === 200 ? performance.now() - startedAtMs : Infinity);
      });
    });
  });
}
