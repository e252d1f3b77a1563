// @ts-check
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { KeyMaker } from '#dist/platform/access/key-format.js';
import { SoakClient } from './client.mjs';

/** A store that is not under test. */
const OTHER_STORE = new KeyMaker(randomBytes(32));
const WORKERS = 12;
const SLOW_CLIENTS = 4;
const PAUSE_MS = 5;
const SLOW_BYTE_INTERVAL_MS = 100;
/** Too many for a slow client to send before the timeout. */
const SLOW_BYTES = 200;
const MAX_FAILURES = 20;

/**
 * A kind of request: its name, its expected statuses, and a function that sends it. 503 is always
 * expected, because of the faults.
 *
 * @typedef {[name: string, expected: number[], send: () => Promise<number[]>]} Kind
 */

/** Sends requests of all kinds until it is stopped. */
export class SoakTraffic {
  /** Number of responses by kind and status. @type {Record<string, number>} */
  counts = {};
  /** The first unexpected responses and errors. @type {string[]} */
  failures = [];
  #isOver = false;

  /**
   * @param {number} port of the service
   * @param {{ caller: string, rejected: string }} keys
   */
  constructor(port, keys) {
    this.client = new SoakClient(port);
    this.keys = keys;
    const kinds = this.#kinds();
    const slowKinds = this.#slowKinds();
    this.workers = [
      ...Array.from({ length: WORKERS }, (_, index) => this.#work(kinds, 2 * index)),
      ...Array.from({ length: SLOW_CLIENTS }, (_, index) => this.#work(slowKinds, index)),
    ];
  }

  /** Resolves when all requests have ended and all connections are closed. */
  async stop() {
    this.#isOver = true;
    await Promise.all(this.workers);
  }

  /** @param {Kind[]} kinds @param {number} first */
  async #work(kinds, first) {
    for (let index = first; !this.#isOver; index++) {
      const [name, expected, send] = /** @type {Kind} */ (kinds[index % kinds.length]);
      try {
        for (const status of await send()) {
          const label = `${name} ${status}`;
          this.counts[label] = (this.counts[label] ?? 0) + 1;
          if (status !== 503 && !expected.includes(status)) this.addFailure(label, 'unexpected');
        }
      } catch (error) {
        this.addFailure(name, error);
      }
      await delay(PAUSE_MS);
    }
  }

  /** @param {string} name of the kind or fault @param {unknown} error */
  addFailure(name, error) {
    if (this.failures.length < MAX_FAILURES) this.failures.push(`${name}: ${String(error)}`);
  }

  /** @returns {Kind[]} */
  #kinds() {
    const { caller: key, rejected } = this.keys;
    /** @type {(path: string, options?: import('./client.mjs').RequestOptions) => () => Promise<number[]>} */
    const get = (path, options) => async () => [(await this.client.send(path, options)).status];
    const list = (query = '', options = {}) => get(`/v1/pets${query}`, { key, ...options });
    /** @param {string} body @param {Record<string, string>} [headers] */
    const post = (body, headers = {}) => list('', { method: 'POST', body, headers });
    return [
      ['list', [200], list()],
      ['list by status', [200], list('?limit=100&status=sold')],
      ['three pages', [200], () => this.#readPages()],
      ['not modified', [200, 304], () => this.#notModified()],
      ['get', [200], list('/1')],
      ['unknown animal', [404], list('/9223372036854775807')],
      ['create', [201], post(newPet())],
      ['create with Idempotency-Key', [201, 409, 422], () => this.#createIdempotently()],
      ['empty object', [400], post('{}')],
      ['malformed JSON', [400], post('{')],
      ['compressed', [415], post('{}', { 'Content-Encoding': 'gzip' })],
      ['too large', [413], post('x'.repeat(102_401))],
      ['unsupported media type', [415], post('{}', { 'Content-Type': 'text/plain' })],
      ['invalid limit', [400], list('?limit=0')],
      ['invalid cursor', [400], list('?cursor=x')],
      ['unknown path', [404], get('/v1/nothing', { key })],
      ['method not allowed', [405], list('', { method: 'DELETE' })],
      ['options', [204], list('', { method: 'OPTIONS' })],
      ['no API key', [401], get('/v1/pets')],
      ['malformed API key', [401], list('', { key: 'wrong' })],
      ['unknown API key', [401], () => list('', { key: OTHER_STORE.create() })()],
      ['over the limit', [200, 429], list('', { key: rejected })],
      ['docs', [200], get('/openapi.json')],
      ['live', [200], get('/health/live')],
      ['ready', [200], get('/health/ready')],
      ['pipelined', [200], () => this.#pipelined(10)],
      ['pipelined, too many', [200], () => this.#pipelined(100)],
      ['disconnect', [], () => this.#disconnect()],
      ['malformed message', [400], () => this.client.sendRaw(['GET / HTTP/1.1\r\nBad\r\n\r\n'])],
    ];
  }

  async #readPages() {
    const statuses = [];
    let path = '/v1/pets?limit=100';
    for (let page = 0; path !== '' && page < 3; page++) {
      const { status, headers } = await this.client.send(path, { key: this.keys.caller });
      statuses.push(status);
      path = /^<(?:http:\/\/[^/]+)?([^>]+)>/.exec(headers.get('link') ?? '')?.[1] ?? '';
    }
    return statuses;
  }

  async #notModified() {
    const key = this.keys.caller;
    const first = await this.client.send('/v1/pets?limit=1', { key });
    const headers = { 'If-None-Match': first.headers.get('etag') ?? '' };
    return [first.status, (await this.client.send('/v1/pets?limit=1', { key, headers })).status];
  }

  /** Sends a create, a concurrent retry, a later retry, and another body with the same key. */
  async #createIdempotently() {
    const headers = { 'Idempotency-Key': randomUUID() };
    const body = newPet();
    const send = (text = body) =>
      this.client.send('/v1/pets', { method: 'POST', key: this.keys.caller, body: text, headers });
    const responses = [...(await Promise.all([send(), send()])), await send()];
    const created = responses.filter(({ status }) => status === 201).map(({ text }) => text);
    if (new Set(created).size > 1) throw new Error('two animals for one Idempotency-Key');
    return [...responses, await send(newPet())].map(({ status }) => status);
  }

  /** @param {string[]} lines of the head of a request, with an API key */
  #head(...lines) {
    return [...lines, 'Host: soak', `Authorization: Bearer ${this.keys.caller}`, ''].join('\r\n');
  }

  /** @param {number} expected number of requests */
  #pipelined(expected) {
    const request = `${this.#head('GET /v1/pets?limit=1 HTTP/1.1')}\r\n`;
    return this.client.sendRaw([request.repeat(expected)], { expected });
  }

  /** Disconnects within a body and before a response. */
  async #disconnect() {
    const head = this.#head('POST /v1/pets HTTP/1.1', 'Content-Length: 100');
    await this.client.sendRaw([`${head}\r\n{`], { limitMs: 20 });
    await this.client.sendRaw([`${this.#head('GET /v1/pets HTTP/1.1')}\r\n`], { limitMs: 1 });
    return [];
  }

  /** @returns {Kind[]} */
  #slowKinds() {
    const options = { intervalMs: SLOW_BYTE_INTERVAL_MS, expected: 1 };
    /** @type {(name: string, start: string) => Kind} */
    const slow = (name, start) => {
      const pieces = [start, ...'a'.repeat(SLOW_BYTES)];
      return [name, [408], () => this.client.sendRaw(pieces, options)];
    };
    const create = this.#head('POST /v1/pets HTTP/1.1', 'Content-Type: application/json');
    return [
      slow('slow head', `${this.#head('GET /v1/pets HTTP/1.1')}X-A: `),
      slow('slow body', `${create}Content-Length: ${2 * SLOW_BYTES}\r\n\r\n`),
      slow('slow chunk', `${create}Transfer-Encoding: chunked\r\n\r\nfff\r\n`),
    ];
  }
}

function newPet() {
  return JSON.stringify({ name: `Soak ${randomUUID()}`, categoryId: 1 });
}
