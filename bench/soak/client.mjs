// @ts-check
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const RESPONSE_LIMIT_MS = 30_000;

/** @typedef {{ method?: string, key?: string, body?: string, headers?: Record<string, string> }} RequestOptions */

/** Sends the requests of a soak run. */
export class SoakClient {
  /** @param {number} port */
  constructor(port) {
    this.port = port;
  }

  /**
   * @param {string} path
   * @param {RequestOptions} [options]
   * @throws if the connection fails, or an error response under /v1 is not an Error
   */
  async send(path, { key, headers, ...request } = {}) {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      ...request,
      headers: {
        ...(key !== undefined && { Authorization: `Bearer ${key}` }),
        ...(request.body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      signal: AbortSignal.timeout(RESPONSE_LIMIT_MS),
    });
    const { status } = response;
    const text = await response.text();
    if (path.startsWith('/v1') && status >= 400 && !hasErrorShape(status, text)) {
      throw new Error(`status ${status} with the body ${text.slice(0, 200)}`);
    }
    return { status, headers: response.headers, text };
  }

  /**
   * Writes bytes on a new connection and returns the statuses of the responses. Stops when the
   * service closes the connection, when it has sent `expected` responses, or at the time limit.
   *
   * @param {Iterable<string>} pieces
   * @param {{ intervalMs?: number, expected?: number, limitMs?: number }} [options] `intervalMs`: pause between two pieces
   * @returns {Promise<number[]>}
   */
  async sendRaw(pieces, { intervalMs = 0, expected = Infinity, limitMs = RESPONSE_LIMIT_MS } = {}) {
    const socket = connect(this.port, '127.0.0.1');
    const closed = once(socket, 'close').catch(() => undefined);
    let received = '';
    const statuses = () =>
      [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
    socket.setEncoding('latin1').on('data', (chunk) => {
      received += String(chunk);
      if (statuses().length >= expected) socket.destroy();
    });
    const limit = setTimeout(() => socket.destroy(), limitMs);
    for (const piece of pieces) {
      if (socket.destroyed) break;
      socket.write(piece, 'latin1');
      if (intervalMs > 0) await delay(intervalMs);
    }
    await closed;
    clearTimeout(limit);
    return statuses();
  }
}

/** @param {number} status @param {string} body */
function hasErrorShape(status, body) {
  const error = JSON.parse(body);
  const types = [typeof error.code, typeof error.message, error.status].join();
  return Object.keys(error).length === 3 && types === `string,string,${status}`;
}
