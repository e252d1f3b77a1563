// @ts-check
// The store's HTTP interface: one animal in, all animals out, and the patience in between.

import { setTimeout as sleep } from 'node:timers/promises';
import { parseLossless } from './lossless-json.mjs';
import { encodePet } from './mapping.mjs';
import { RequestGate, backoffMs, retryAfterMs } from './request-gate.mjs';

const REQUEST_TIMEOUT_MS = 30_000;
/** Refusals of one row. Any other refusal would meet every row alike, so it stops the import. */
const ROW_REFUSALS = [400, 413, 422];
const PAGE_SIZE = 100;

/**
 * @typedef {{ outcome: 'added', id: string, replayed: boolean }} Added `id` in decimal: an int64 does not fit a number
 * @typedef {{ outcome: 'refused', status: number, code: string, message: string }} Refused
 * @typedef {{ id: string, name: string, categoryId: string, status: string }} Pet
 * @typedef {{ status: number, headers: Headers, body: any }} Answer `body` is undefined when it is not JSON
 */

/** The import cannot go on; the message is one line for the user. */
export class StoreError extends Error {
  /** @override */
  name = 'StoreError';
}

/** The service does not take the key. */
export class KeyRefusedError extends StoreError {
  /** @override */
  name = 'KeyRefusedError';
}

export class StoreClient {
  /** Requests sent, requests sent again, and answers 429. */
  counts = { requests: 0, retries: 0, tooManyRequests: 0 };
  #origin;
  #petsUrl;
  #key;
  #tries;
  #signal;

  /**
   * @param {object} options
   * @param {URL} options.url base address without the `v1`
   * @param {string} options.key API key
   * @param {number} options.tries how often one request is sent while the service cannot be reached or answers 5xx
   * @param {AbortSignal} options.signal ends waits, not requests under way
   */
  constructor({ url, key, tries, signal }) {
    this.#origin = url.origin;
    this.#petsUrl = `${url.href.replace(/\/+$/, '')}/v1/pets`;
    this.#key = key;
    this.#tries = tries;
    this.#signal = signal;
    this.gate = new RequestGate(signal);
  }

  /**
   * @param {import('./mapping.mjs').NewPet} pet
   * @param {string} idempotencyKey
   * @returns {Promise<Added | Refused>}
   * @throws {StoreError} for what is not the row's fault
   */
  async addPet(pet, idempotencyKey) {
    const answer = await this.#request(this.#petsUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
      body: encodePet(pet),
    });
    const { status, headers, body } = answer;
    if (status === 201 && typeof body?.id === 'bigint') {
      const replayed = headers.get('idempotent-replayed') === 'true';
      return { outcome: 'added', id: String(body.id), replayed };
    }
    if (ROW_REFUSALS.includes(status) && isErrorBody(body)) {
      const { code, message } = body;
      return { outcome: 'refused', status, code: this.#clean(code), message: this.#clean(message) };
    }
    throw this.#unexpected(answer);
  }

  /**
   * @returns {AsyncGenerator<Pet[], void>} the pages of all animals, by the Links to the next one (RFC 8288)
   * @throws {StoreError}
   */
  async *listPages() {
    /** @type {string | undefined} */
    let url = `${this.#petsUrl}?limit=${PAGE_SIZE}`;
    while (url !== undefined) {
      const answer = await this.#request(url, { method: 'GET' });
      const { status, body } = answer;
      const isPage = status === 200 && Array.isArray(body);
      if (!isPage || !body.every((pet) => typeof pet?.id === 'bigint'))
        throw this.#unexpected(answer);
      yield body.map((pet) => ({
        id: String(pet.id),
        name: String(pet.name),
        categoryId: String(pet.categoryId),
        status: String(pet.status),
      }));
      url = this.#nextPage(answer.headers, url);
    }
  }

  /**
   * @param {Headers} headers
   * @param {string} url of the page
   * @returns {string | undefined}
   */
  #nextPage(headers, url) {
    const target = /<([^>]*)>[^<]*;\s*rel="?next"?/i.exec(headers.get('link') ?? '')?.[1];
    if (target === undefined) return undefined;
    const next = new URL(target, url);
    // The key goes to the address the user gave, and to no other.
    if (next.origin !== this.#origin) {
      throw new StoreError(`the next page is at ${next.origin}: give that address with --url`);
    }
    return next.href;
  }

  /**
   * Sends a request until it has an answer that another try would not change.
   * @param {string} url
   * @param {Omit<RequestInit, 'headers'> & { headers?: Record<string, string> }} init
   * @returns {Promise<Answer>}
   * @throws {StoreError}
   */
  async #request(url, init) {
    let failures = 0;
    for (;;) {
      const sentAtMs = await this.gate.enter();
      const result = await this.#send(url, init);
      const headers = 'headers' in result ? result.headers : undefined;
      if ('headers' in result && result.status === 429) {
        // Before `leave`, which lets the next one through.
        this.gate.refused(result.headers, sentAtMs);
        this.gate.leave(headers);
        this.counts.tooManyRequests += 1;
      } else {
        if (headers) this.gate.accepted();
        this.gate.leave(headers);
        const problem = problemOf(result);
        if (problem === undefined) return this.#checked(/** @type {Answer} */ (result));
        failures += 1;
        if (failures >= this.#tries) {
          const tries = failures === 1 ? '1 try' : `${failures} tries`;
          throw new StoreError(`no answer after ${tries}: ${this.#clean(problem)}`);
        }
        const askedForMs = (headers && retryAfterMs(headers)) ?? 0;
        await sleep(askedForMs + backoffMs(failures), undefined, { signal: this.#signal });
      }
      this.counts.retries += 1;
    }
  }

  /**
   * @param {string} url
   * @param {Omit<RequestInit, 'headers'> & { headers?: Record<string, string> }} init
   * @returns {Promise<Answer | { problem: string }>} never rejects
   */
  async #send(url, init) {
    this.counts.requests += 1;
    try {
      const response = await fetch(url, {
        ...init,
        headers: {
          ...init.headers,
          authorization: `Bearer ${this.#key}`,
          accept: 'application/json',
        },
        redirect: 'manual', // a redirect could carry the key elsewhere
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: parsed(text) };
    } catch (error) {
      return { problem: networkProblem(error) };
    }
  }

  /**
   * @param {Answer} answer
   * @returns {Answer}
   * @throws {KeyRefusedError}
   */
  #checked(answer) {
    if (answer.status !== 401) return answer;
    const reason = isErrorBody(answer.body) ? answer.body.code : '401';
    throw new KeyRefusedError(`the service does not take the API key (${this.#clean(reason)})`);
  }

  /**
   * @param {Answer} answer
   * @returns {StoreError}
   */
  #unexpected({ status, body }) {
    const what = isErrorBody(body) ? `${status} ${body.code}: ${body.message}` : `${status}`;
    return new StoreError(`unexpected answer from ${this.#petsUrl}: ${this.#clean(what)}`);
  }

  /**
   * @param {string} text that others wrote
   * @returns {string} fit for a terminal and a log: one line, no control characters, not the key
   */
  #clean(text) {
    // eslint-disable-next-line no-control-regex
    return text.replaceAll(this.#key, '[API key]').replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
  }
}

/**
 * @param {Answer | { problem: string }} result
 * @returns {string | undefined} why the request is worth another try
 */
function problemOf(result) {
  if ('problem' in result) return result.problem;
  const { status, body } = result;
  const code = isErrorBody(body) ? body.code : '';
  const isPassing =
    status >= 500 || status === 408 || (status === 409 && code === 'idempotency_key_in_progress');
  return isPassing ? `${status} ${code}`.trim() : undefined;
}

/**
 * @param {any} body
 * @returns {body is { code: string, message: string }}
 */
function isErrorBody(body) {
  return typeof body?.code === 'string' && typeof body?.message === 'string';
}

/**
 * @param {string} text
 * @returns {any} undefined when it is not JSON, as a proxy's answer may be
 */
function parsed(text) {
  try {
    return parseLossless(text);
  } catch {
    return undefined;
  }
}

/**
 * @param {unknown} error of fetch, which keeps the reason in `cause`
 * @returns {string}
 */
function networkProblem(error) {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `nothing within ${REQUEST_TIMEOUT_MS / 1000} s`;
  const cause = /** @type {{ code?: string, message?: string } | undefined} */ (error.cause);
  return cause?.code ?? cause?.message ?? error.message;
}
