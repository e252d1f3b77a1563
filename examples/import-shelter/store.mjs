// @ts-check
// Sends the rows with the typed client, and turns its responses into outcomes and failures.

import { createClient, listPages } from '../client/client.mjs';
import { ImportError } from './import-error.mjs';
import { RateGate } from './rate-gate.mjs';

/** Rejections of one row. Any other rejection applies to every row and stops the import. */
const ROW_REJECTIONS = [400, 413, 422];

export class Store {
  gate;
  #client;
  #options;

  /**
   * @param {object} options
   * @param {URL} options.url base address without the `v1`
   * @param {string} options.key API key
   * @param {number} options.tries maximum attempts of a request, not counting 429 responses
   * @param {AbortSignal} options.signal ends waits; requests in progress complete
   */
  constructor(options) {
    const { url, key, tries, signal } = options;
    this.#options = options;
    this.gate = new RateGate(signal);
    this.#client = createClient(url.href, key, { tries, signal, fetch: this.gate.fetch });
  }

  /**
   * @param {import('./mapping.mjs').NewPet} pet
   * @param {string} idempotencyKey
   * @returns {Promise<{ outcome: import('./journal.mjs').RowOutcome, replayed: boolean }>}
   * @throws {ImportError} if the failure does not depend on the row
   */
  async addPet(pet, idempotencyKey) {
    const { data, error, response } = await this.#client
      .POST('/pets', {
        params: { header: { 'Idempotency-Key': idempotencyKey } },
        body: /** @type {any} */ (pet), // the service rejects a categoryId without a mapping
      })
      .catch((/** @type {unknown} */ reason) => this.#fail(reason));
    if (typeof data?.id === 'bigint') {
      const replayed = response.headers.get('Idempotent-Replayed') === 'true';
      return { outcome: { outcome: 'added', id: String(data.id) }, replayed };
    }
    if (!ROW_REJECTIONS.includes(response.status) || !error?.code) {
      return this.#fail({ ...error, status: response.status });
    }
    const [code, message] = [this.#clean(error.code), this.#clean(error.message)];
    return {
      outcome: { outcome: 'rejected', status: response.status, code, message },
      replayed: false,
    };
  }

  /**
   * @returns {AsyncGenerator<import('../client/client.mjs').Pet[], void>} the pages of all animals
   * @throws {ImportError}
   */
  async *listPages() {
    try {
      for await (const page of listPages(this.#client)) {
        const isPage = Array.isArray(page) && page.every(({ id }) => typeof id === 'bigint');
        if (!isPage) throw new SyntaxError('not a list of animals');
        yield page;
      }
    } catch (error) {
      const { cause } = /** @type {Error} */ (error);
      const isResponse = typeof cause === 'object' && cause !== null && 'status' in cause;
      this.#fail(isResponse ? cause : error);
    }
  }

  /**
   * @param {any} reason the body of an error response, or the error of fetch
   * @returns {never}
   * @throws {ImportError} with one line; the reason itself after the signal
   */
  #fail(reason) {
    const { url, tries, signal } = this.#options;
    if (signal.aborted) throw signal.reason;
    const { status, code, message } = reason;
    if (status === 401)
      throw new KeyRejectedError(`the service rejects the API key (${this.#clean(code)})`);
    const isResponse = typeof status === 'number' || reason instanceof SyntaxError;
    if (!isResponse || status >= 500 || status === 408 || status === 409) {
      // fetch keeps the reason in `cause`.
      const problem = isResponse ? [status, code].join(' ') : (reason.cause?.code ?? message);
      throw new ImportError(
        `no response after ${tries} ${tries === 1 ? 'try' : 'tries'}: ${this.#clean(problem)}`,
        1,
      );
    }
    const what = code ? `${status} ${code}: ${message}` : String(status ?? message);
    const address = `${url.href.replace(/\/+$/, '')}/v1/pets`;
    throw new ImportError(`unexpected response from ${address}: ${this.#clean(what)}`);
  }

  /**
   * @param {string} text of the service
   * @returns {string} one line for a terminal and a log, without control characters and API key
   */
  #clean(text) {
    return text
      .replaceAll(this.#options.key, '[API key]')
      .replace(/\p{Cc}+/gu, ' ')
      .trim();
  }
}

/** The service rejects the API key. */
export class KeyRejectedError extends ImportError {}
