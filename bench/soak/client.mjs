// @ts-check
import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

const RESPONSE_LIMIT_MS = 30_000;

/** @typedef {{ method?: string, key?: string, body?: string, headers?: Record<string, string> }} RequestOptions */
/** @typedef {{ status: number, headers: import('node:http').IncomingHttpHeaders, text: string }} SoakResponse */

/** Sends the requests of a soak run. */
export class SoakClient {
  #agent = new Agent({ keepAlive: true });

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
   * @throws if the connection fails, or an error response under /v1 is not an Error
   */
  async send(path, { method = 'GET', key, body, headers } = {}) {
    const request = httpRequest({
      ...{ host: '127.0.0.1', port: this.port, path, method, agent: this.#agent },
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
    request.end(body);
    /** @type {import('node:http').IncomingMessage[]} */
    const [response] = await once(request, 'response');
    if (!response) throw new Error('no response');
    const status = response.statusCode ?? 0;
    const received = await text(response);
    if (path.startsWith('/v1') && status >= 400 && !hasErrorShape(status, received)) {
      throw new Error(`status ${status} with the body ${received.slice(0, 200)}`);
    }
    return { status, headers: response.headers, text: received };
  }

  close() {
    this.#agent.destroy();
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
