// @ts-check
import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const RESPONSE_LIMIT_MS = 30_000;
const CONNECTIONS = 32;

/**
 * @typedef {{ method?: string, key?: string | undefined, body?: string | Buffer, headers?: Record<string, string> }} RequestOptions
 * @typedef {{ status: number, headers: import('node:http').IncomingHttpHeaders, text: string }} SoakResponse
 */

/** Sends the requests of a soak run. */
export class SoakClient {
  #agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

  /** @param {number} port */
  constructor(port) {
    this.port = port;
  }

  /**
   * Sends a request on a keep-alive connection and reads the response.
   *
   * @param {string} path
   * @param {RequestOptions} [options]
   * @returns {Promise<SoakResponse>}
   * @throws if the connection fails
   */
  send(path, { method = 'GET', key, body, headers } = {}) {
    const { port } = this;
    return new Promise((resolve, reject) => {
      const request = httpRequest({
        ...{ host: '127.0.0.1', port, path, method, agent: this.#agent },
        headers: {
          ...(key !== undefined && { Authorization: `Bearer ${key}` }),
          ...(body !== undefined && {
            'Content-Type': 'application/json',
            'Content-Length': Buffer.byteLength(body),
          }),
          ...headers,
        },
        signal: AbortSignal.timeout(RESPONSE_LIMIT_MS),
      });
      request.on('error', reject);
      request.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        );
      });
      request.end(body);
    });
  }

  /**
   * Writes bytes on a new connection and returns the statuses of the responses. Stops when the
   * service closes the connection, when it has sent `expected` responses, or at the time limit.
   *
   * @param {readonly string[]} pieces
   * @param {{ intervalMs?: number, expected?: number, limitMs?: number }} [options] `intervalMs`: pause between two pieces
   * @returns {Promise<number[]>}
   */
  async sendRaw(pieces, { intervalMs = 0, expected = Infinity, limitMs = RESPONSE_LIMIT_MS } = {}) {
    const socket = connect(this.port, '127.0.0.1');
    let received = '';
    const ended = new AbortController();
    const statuses = () =>
      [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
    socket.on('error', () => undefined);
    socket.once('close', () => ended.abort());
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      if (statuses().length >= expected) ended.abort();
    });
    const limit = setTimeout(() => ended.abort(), limitMs);
    for (const piece of pieces) {
      if (ended.signal.aborted) break;
      socket.write(piece, 'latin1');
      if (intervalMs > 0) {
        await delay(intervalMs, undefined, { signal: ended.signal }).catch(() => undefined);
      }
    }
    while (!ended.signal.aborted) {
      await delay(limitMs, undefined, { signal: ended.signal }).catch(() => undefined);
    }
    clearTimeout(limit);
    socket.destroy();
    return statuses();
  }

  close() {
    this.#agent.destroy();
  }
}
