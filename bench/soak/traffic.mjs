// @ts-check
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { KeyMaker } from '#dist/platform/access/key-format.js';
import { SoakClient } from './client.mjs';

/** @typedef {import('./client.mjs').SoakResponse} SoakResponse */

/** A store that is not under test. */
const OTHER_STORE = new KeyMaker(randomBytes(32));
const PAUSE_MS = 5;
const SLOW_BYTE_INTERVAL_MS = 100;
/** Too many for a slow client to send before the timeout. */
const SLOW_BYTES = 200;
const MAX_FAILURES = 20;

/**
 * A kind of request and its expected statuses. 503 is always expected, because of the faults.
 *
 * @typedef {{ name: string, expected: readonly number[], run: () => Promise<readonly number[]> }} Kind
 */

/** Sends requests of all kinds until it is stopped. */
export class SoakTraffic {
  /** Number of responses by kind and status. @type {Record<string, number>} */
  counts = {};
  /** The first unexpected responses and errors. @type {string[]} */
  failures = [];
  #isOver = false;
  /** @type {Promise<void>[]} */
  #workers = [];
  #client;

  /**
   * @param {number} port of the service
   * @param {{ caller: string, rejected: string }} keys
   */
  constructor(port, keys) {
    this.keys = keys;
    this.#client = new SoakClient(port);
  }

  /** @param {{ workers: number, slowClients: number }} clients number of concurrent clients */
  start({ workers, slowClients }) {
    const kinds = this.#kinds();
    for (let worker = 0; worker < workers; worker++) {
      this.#workers.push(this.#work(kinds, worker * Math.floor(kinds.length / workers)));
    }
    const slow = this.#slowKinds();
    for (let client = 0; client < slowClients; client++)
      this.#workers.push(this.#work(slow, client));
  }

  /** Resolves when all requests have ended and all connections are closed. */
  async stop() {
    this.#isOver = true;
    await Promise.all(this.#workers);
    this.#client.close();
  }

  /** @param {readonly Kind[]} kinds @param {number} first */
  async #work(kinds, first) {
    for (let index = first; !this.#isOver; index++) {
      const kind = kinds[index % kinds.length];
      if (!kind) return;
      try {
        for (const status of await kind.run()) this.#count(kind, status);
      } catch (error) {
        this.addFailure(kind.name, error);
      }
      await delay(PAUSE_MS);
    }
  }

  /** @param {Kind} kind @param {number} status */
  #count({ name, expected }, status) {
    const label = `${name} ${status}`;
    this.counts[label] = (this.counts[label] ?? 0) + 1;
    if (status !== 503 && !expected.includes(status)) this.addFailure(name, `status ${status}`);
  }

  /** @param {string} name of the kind or fault @param {unknown} error */
  addFailure(name, error) {
    if (this.failures.length >= MAX_FAILURES) return;
    this.failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
  }

  /**
   * @param {string} path
   * @param {import('./client.mjs').RequestOptions} [options]
   * @returns {Promise<SoakResponse>}
   * @throws if an error response is not an Error
   */
  async #send(path, options) {
    const response = await this.#client.send(path, options);
    if (path.startsWith('/v1') && response.status >= 400 && !hasErrorShape(response)) {
      throw new Error(`status ${response.status} with the body ${response.text.slice(0, 200)}`);
    }
    return response;
  }

  /** @returns {Kind[]} */
  #kinds() {
    const { caller, rejected } = this.keys;
    /** @type {(name: string, expected: number[], path: string, options?: import('./client.mjs').RequestOptions) => Kind} */
    const kind = (name, expected, path, options) => ({
      name,
      expected,
      run: async () => [(await this.#send(path, options)).status],
    });
    const post = (body = newPet(), headers = {}) => ({
      method: 'POST',
      key: caller,
      body,
      headers,
    });
    return [
      kind('list', [200], '/v1/pets', { key: caller }),
      kind('list by status', [200], '/v1/pets?limit=100&status=sold', { key: caller }),
      { name: 'three pages', expected: [200], run: () => this.#readPages() },
      { name: 'not modified', expected: [200, 304], run: () => this.#notModified() },
      kind('get', [200], '/v1/pets/1', { key: caller }),
      kind('unknown animal', [404], '/v1/pets/9223372036854775807', { key: caller }),
      kind('create', [201], '/v1/pets', post()),
      {
        name: 'create with Idempotency-Key',
        expected: [201, 409, 422],
        run: () => this.#createIdempotently(),
      },
      kind('empty object', [400], '/v1/pets', post('{}')),
      kind('malformed JSON', [400], '/v1/pets', post('{')),
      kind('compressed', [415], '/v1/pets', post('{}', { 'Content-Encoding': 'gzip' })),
      kind('too large', [413], '/v1/pets', post('x'.repeat(102_401))),
      kind(
        'unsupported media type',
        [415],
        '/v1/pets',
        post('{}', { 'Content-Type': 'text/plain' }),
      ),
      kind('invalid limit', [400], '/v1/pets?limit=0', { key: caller }),
      kind('invalid cursor', [400], '/v1/pets?cursor=x', { key: caller }),
      kind('unknown path', [404], '/v1/nothing', { key: caller }),
      kind('method not allowed', [405], '/v1/pets', { method: 'DELETE', key: caller }),
      kind('options', [204], '/v1/pets', { method: 'OPTIONS', key: caller }),
      kind('no API key', [401], '/v1/pets'),
      kind('malformed API key', [401], '/v1/pets', { key: 'wrong' }),
      { name: 'unknown API key', expected: [401], run: () => this.#unknownKey() },
      kind('over the limit', [200, 429], '/v1/pets', { key: rejected }),
      kind('docs', [200], '/openapi.json'),
      kind('live', [200], '/health/live'),
      kind('ready', [200], '/health/ready'),
      { name: 'pipelined', expected: [200], run: () => this.#pipelined(10) },
      { name: 'pipelined, too many', expected: [200], run: () => this.#pipelined(100) },
      { name: 'disconnect', expected: [], run: () => this.#disconnect() },
      {
        name: 'malformed message',
        expected: [400],
        run: () => this.#client.sendRaw(['GET /v1/pets HTTP/1.1\r\nBad\r\n\r\n'], { expected: 1 }),
      },
    ];
  }

  async #readPages() {
    const statuses = [];
    /** @type {string | undefined} */
    let path = '/v1/pets?limit=100';
    for (let page = 0; path !== undefined && page < 3; page++) {
      const { status, headers } = await this.#send(path, { key: this.keys.caller });
      statuses.push(status);
      path = /^<(?:http:\/\/[^/]+)?([^>]+)>/.exec(String(headers.link))?.[1];
    }
    return statuses;
  }

  async #notModified() {
    const key = this.keys.caller;
    const { status, headers } = await this.#send('/v1/pets?limit=1', { key });
    if (status !== 200) return [status];
    const conditions = { 'If-None-Match': String(headers.etag) };
    return [status, (await this.#send('/v1/pets?limit=1', { key, headers: conditions })).status];
  }

  /** Sends a create, a concurrent retry, a later retry, and another body with the same key. */
  async #createIdempotently() {
    const headers = { 'Idempotency-Key': randomUUID() };
    const retried = { method: 'POST', key: this.keys.caller, body: newPet(), headers };
    const both = await Promise.all([
      this.#send('/v1/pets', retried),
      this.#send('/v1/pets', retried),
    ]);
    const later = await this.#send('/v1/pets', retried);
    const other = await this.#send('/v1/pets', { ...retried, body: newPet() });
    const created = [...both, later].filter(({ status }) => status === 201);
    if (new Set(created.map(({ text }) => text)).size > 1)
      throw new Error('two animals for one Idempotency-Key');
    return [...both, later, other].map(({ status }) => status);
  }

  async #unknownKey() {
    return [(await this.#send('/v1/pets', { key: OTHER_STORE.create() })).status];
  }

  /** @param {number} count */
  #pipelined(count) {
    const request = `GET /v1/pets?limit=1 HTTP/1.1\r\nHost: soak\r\nAuthorization: Bearer ${this.keys.caller}\r\n\r\n`;
    return this.#client.sendRaw([request.repeat(count)], { expected: count });
  }

  /** Disconnects within a body and before a response. */
  async #disconnect() {
    const head = (/** @type {string[]} */ ...lines) =>
      [...lines, 'Host: soak', `Authorization: Bearer ${this.keys.caller}`, '', ''].join('\r\n');
    const body = head(
      'POST /v1/pets HTTP/1.1',
      'Content-Type: application/json',
      'Content-Length: 100',
    );
    await this.#client.sendRaw([`${body}{`], { limitMs: 20 });
    await this.#client.sendRaw([head('GET /v1/pets HTTP/1.1')], { limitMs: 1 });
    return [];
  }

  /** @returns {Kind[]} */
  #slowKinds() {
    /** @type {(name: string, start: string) => Kind} */
    const slow = (name, start) => ({
      name,
      expected: [408],
      run: () =>
        this.#client.sendRaw([start, ...'a'.repeat(SLOW_BYTES)], {
          intervalMs: SLOW_BYTE_INTERVAL_MS,
          expected: 1,
        }),
    });
    const authorized = `Host: soak\r\nAuthorization: Bearer ${this.keys.caller}\r\n`;
    const create = `POST /v1/pets HTTP/1.1\r\n${authorized}Content-Type: application/json\r\n`;
    return [
      slow('slow head', `GET /v1/pets HTTP/1.1\r\n${authorized}X-A: `),
      slow('slow body', `${create}Content-Length: ${2 * SLOW_BYTES}\r\n\r\n`),
      slow('slow chunk', `${create}Transfer-Encoding: chunked\r\n\r\nfff\r\n`),
    ];
  }
}

function newPet() {
  return JSON.stringify({ name: `Soak ${randomUUID()}`, categoryId: 1 });
}

/** @param {SoakResponse} response */
function hasErrorShape({ status, text }) {
  const error = JSON.parse(text);
  return (
    Object.keys(error).sort().join() === 'code,message,status' &&
    error.status === status &&
    typeof error.code === 'string' &&
    typeof error.message === 'string'
  );
}
