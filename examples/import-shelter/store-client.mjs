// @ts-check
// A client of the store's HTTP interface: adds an animal, lists all animals, and retries.

import { setTimeout as sleep } from 'node:timers/promises';
import { parseLossless } from './lossless-json.mjs';
import { encodePet } from './mapping.mjs';
import { RequestGate, backoffMs, retryAfterMs } from './request-gate.mjs';

const REQUEST_TIMEOUT_MS = 30_000;
/** Rejections of one row. Any other rejection applies to every row and stops the import. */
const ROW_REJECTIONS = [400, 413, 422];
const PAGE_SIZE = 100;

/**
 * @typedef {{ outcome: 'added', id: string, replayed: boolean }} Added `id` is decimal, because a
 *   number cannot hold an int64
 * @typedef {{ outcome: 'rejected', status: number, code: string, message: string }} Rejected
 * @typedef {{ id: string, name: string, categoryId: string, status: string }} Pet
 * @typedef {{ status: number, headers: Headers, body: any }} StoreResponse `body` is undefined if
 *   it is not JSON
 */

/** The import cannot continue. The message is one line for the user. */
export class StoreError extends Error {
  /** @override */
  name = 'StoreError';
}

/** The service rejects the API key. */
export class KeyRejectedError extends StoreError {
  /** @override */
  name = 'KeyRejectedError';
}

export class StoreClient {
  /** Requests, retries, and 429 responses. */
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
   * @param {number} options.tries maximum attempts of a request if the service is unreachable or
   *   responds with 5xx
   * @param {AbortSignal} options.signal aborts waits, not requests in progress
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
   * @returns {Promise<Added | Rejected>}
   * @throws {StoreError} if the failure does not depend on the row
   */
  async addPet(pet, idempotencyKey) {
    const response = await this.#request(this.#petsUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
      body: encodePet(pet),
    });
    const { status, headers, body } = response;
    if (status === 201 && typeof body?.id === 'bigint') {
      const replayed = headers.get('idempotent-replayed') === 'true';
      return { outcome: 'added', id: String(body.id), replayed };
    }
    if (ROW_REJECTIONS.includes(status) && isErrorBody(body)) {
      const { code, message } = body;
      return {
        outcome: 'rejected',
        status,
        code: this.#clean(code),
        message: this.#clean(message),
      };
    }
    throw this.#unexpected(response);
  }

  /**
   * @returns {AsyncGenerator<Pet[], void>} the pages of all animals, by following `Link` headers
   *   (RFC 8288)
   * @throws {StoreError}
   */
  async *listPages() {
    /** @type {string | undefined} */
    let url = `${this.#petsUrl}?limit=${PAGE_SIZE}`;
    while (url !== undefined) {
      const response = await this.#request(url, { method: 'GET' });
      const { status, body } = response;
      const isPage = status === 200 && Array.isArray(body);
      if (!isPage || !body.every((pet) => typeof pet?.id === 'bigint'))
        throw this.#unexpected(response);
      yield body.map((pet) => ({
        id: String(pet.id),
        name: String(pet.name),
        categoryId: String(pet.categoryId),
        status: String(pet.status),
      }));
      url = this.#nextPage(response.headers, url);
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
    // Send the key only to the address that the user has set.
    if (next.origin !== this.#origin) {
      throw new StoreError(`the next page is at ${next.origin}; set --url to that address`);
    }
    return next.href;
  }

  /**
   * Sends a request and retries it while its failure may be temporary.
   * @param {string} url
   * @param {Omit<RequestInit, 'headers'> & { headers?: Record<string, string> }} init
   * @returns {Promise<StoreResponse>}
   * @throws {StoreError}
   */
  async #request(url, init) {
    let failures = 0;
    for (;;) {
      const sentAtMs = await this.gate.enter();
      const result = await this.#send(url, init);
      const headers = 'headers' in result ? result.headers : undefined;
      if ('headers' in result && result.status === 429) {
        // Before `leave`, which admits the next request.
        this.gate.rejected(result.headers, sentAtMs);
        this.gate.leave(headers);
        this.counts.tooManyRequests += 1;
      } else {
        if (headers) this.gate.accepted();
        this.gate.leave(headers);
        const problem = problemOf(result);
        if (problem === undefined) return this.#checked(/** @type {StoreResponse} */ (result));
        failures += 1;
        if (failures >= this.#tries) {
          const tries = failures === 1 ? '1 try' : `${failures} tries`;
          throw new StoreError(`no response after ${tries}: ${this.#clean(problem)}`);
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
   * @returns {Promise<StoreResponse | { problem: string }>} never rejects
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
        redirect: 'manual', // a redirect could send the key to another server
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: parsed(text) };
    } catch (error) {
      return { problem: networkProblem(error) };
    }
  }

  /**
   * @param {StoreResponse} response
   * @returns {StoreResponse}
   * @throws {KeyRejectedError}
   */
  #checked(response) {
    if (response.status !== 401) return response;
    const reason = isErrorBody(response.body) ? response.body.code : '401';
    throw new KeyRejectedError(`the service rejects the API key (${this.#clean(reason)})`);
  }

  /**
   * @param {StoreResponse} response
   * @returns {StoreError}
   */
  #unexpected({ status, body }) {
    const what = isErrorBody(body) ? `${status} ${body.code}: ${body.message}` : `${status}`;
    return new StoreError(`unexpected response from ${this.#petsUrl}: ${this.#clean(what)}`);
  }

  /**
   * @param {string} text of the service
   * @returns {string} safe for a terminal and a log: one line without control characters and
   *   without the key
   */
  #clean(text) {
    // eslint-disable-next-line no-control-regex
    return text.replaceAll(this.#key, '[API key]').replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
  }
}

/**
 * @param {StoreResponse | { problem: string }} result
 * @returns {string | undefined} why a retry may succeed; undefined: it may not
 */
function problemOf(result) {
  if ('problem' in result) return result.problem;
  const { status, body } = result;
  const code = isErrorBody(body) ? body.code : '';
  const isTemporary =
    status >= 500 || status === 408 || (status === 409 && code === 'idempotency_key_in_progress');
  return isTemporary ? `${status} ${code}`.trim() : undefined;
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
 * @returns {any} undefined if it is not JSON, such as the response of a proxy
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
