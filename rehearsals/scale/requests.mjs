// @ts-check
import { connect } from 'node:net';
import { PageCursor } from '#dist/platform/http/paging/page-cursor.js';
import { PageQuery } from '#dist/platform/http/paging/page-query.dto.js';

const CONNECTIONS = 16;
const PAGE_SIZE = 100;

/** @param {bigint} id @returns {string} the cursor of the page after this animal */
export function cursorAfter(id) {
  return new PageCursor('bigint').cursorAfter([id], new PageQuery());
}

/**
 * Sends one request with each API key over a few connections.
 *
 * @param {number} port of a replica
 * @param {readonly string[]} keys
 * @returns {Promise<Record<string, number>>} the number of responses by status
 */
export async function sendWithEach(port, keys) {
  /** @type {Record<string, number>} */
  const counts = {};
  let next = 0;
  const work = () =>
    /** @type {Promise<void>} */ (
      new Promise((resolve, reject) => {
        const socket = connect(port, '127.0.0.1');
        const send = () => {
          if (next === keys.length) return socket.end();
          const key = keys[next++];
          socket.write(
            `GET /v1/pets?limit=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`,
          );
        };
        socket.on('connect', send).on('error', reject).on('close', resolve);
        socket.on('data', (chunk) => {
          // A response may arrive in several chunks. The first one has its status.
          const status = /^HTTP\/1\.1 (\d{3})/.exec(chunk.toString('latin1'))?.[1];
          if (status === undefined) return;
          counts[status] = (counts[status] ?? 0) + 1;
          send();
        });
      })
    );
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  return counts;
}

/** Reads the list page by page, in turn from each replica. */
export class Walk {
  #path;
  #page = 0;
  animals = 0;
  sum = 0n;

  /** @param {number[]} ports @param {string} key @param {bigint} afterId where it begins */
  constructor(ports, key, afterId) {
    this.ports = ports;
    this.lastId = afterId;
    this.#path = `/v1/pets?limit=${PAGE_SIZE}&cursor=${cursorAfter(afterId)}`;
    this.headers = { Authorization: `Bearer ${key}` };
  }

  /**
   * Reads the pages up to an animal.
   *
   * @param {bigint} lastId
   * @throws if the animals are not in ascending order
   */
  async to(lastId) {
    while (this.#path !== '') {
      const port = this.ports[this.#page++ % this.ports.length];
      const response = await fetch(`http://127.0.0.1:${port}${this.#path}`, {
        headers: this.headers,
      });
      if (response.status !== 200) throw new Error(await response.text());
      const link = response.headers.get('link') ?? '';
      for (const { id } of /** @type {{ id: number }[]} */ (await response.json())) {
        if (BigInt(id) > lastId) return;
        if (BigInt(id) <= this.lastId) throw new Error(`${id} follows ${this.lastId}.`);
        this.lastId = BigInt(id);
        this.sum += this.lastId;
        this.animals++;
      }
      this.#path = /^<(?:http:\/\/[^/]+)?([^>]+)>/.exec(link)?.[1] ?? '';
    }
  }
}
