// @ts-check
// A typed client of the store. It retries, walks all pages and keeps every digit of an int64.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isInteger, parse, stringify } from 'lossless-json';
import createOpenApiClient from 'openapi-fetch';
import pRetry from 'p-retry';

/**
 * @typedef {import('./api.js').components['schemas']['Pet']} Pet
 * @typedef {import('./api.js').paths} Paths
 * @typedef {import('openapi-fetch').Client<Paths>} PetsClient
 * @typedef {NonNullable<Paths['/pets']['get']['parameters']['query']>} ListQuery
 *
 * @typedef {object} ClientOptions
 * @property {number} [tries] maximum attempts of a request
 * @property {AbortSignal} [signal] ends all waits; requests in progress complete
 * @property {(request: Request) => Promise<Response>} [fetch] sends one attempt; it has a time limit
 */

const MAX_RETRY_AFTER_SECONDS = 600;
const BACKOFF = { minTimeout: 500, maxTimeout: 60_000, randomize: true };

/**
 * Creates a client that sends a request again while its failure may be temporary. It returns a response with a `Retry-After` of
 * more than ten minutes.
 * @param {string} url base address without `v1`
 * @param {string} apiKey
 * @param {ClientOptions} [options]
 * @returns {PetsClient}
 */
export function createClient(url, apiKey, { tries = 8, signal, fetch = fetchInTime } = {}) {
  return createOpenApiClient({
    baseUrl: `${url.replace(/\/+$/, '')}/v1`,
    headers: { Authorization: `Bearer ${apiKey}` },
    redirect: 'manual', // a redirect could send the API key to another server
    bodySerializer: (body) => stringify(body) ?? '',
    fetch: async (request) => {
      if (request.method === 'POST' && !request.headers.has('Idempotency-Key')) {
        request.headers.set('Idempotency-Key', randomUUID());
      }
      /** @type {Response | undefined} */
      let response;
      const attempt = async () => {
        response = undefined;
        response = await exactJson(await fetch(request.clone()));
        if (isTemporary(response)) throw new Error(`status ${response.status}`);
      };
      const onFailedAttempt = (/** @type {{ retriesLeft: number }} */ { retriesLeft }) => {
        const seconds = retriesLeft > 0 ? Number(response?.headers.get('Retry-After')) : 0;
        return sleep(seconds * 1000, undefined, { signal });
      };
      const options = { ...BACKOFF, retries: tries - 1, onFailedAttempt };
      await pRetry(attempt, signal ? { ...options, signal } : options).catch(
        (/** @type {unknown} */ error) => {
          if (!response) throw error;
        },
      );
      return /** @type {any} */ (response);
    },
  });
}

/**
 * @param {PetsClient} client
 * @param {ListQuery} [filter] and the size of a page, 100 by default
 * @returns {AsyncGenerator<Pet[], void>} all pages
 * @throws {Error} with the body of the error response as its cause
 */
export async function* listPages(client, filter) {
  /** @type {ListQuery | undefined} */
  let query = { limit: 100, ...filter };
  while (query) {
    const { data, error, response } = await client.GET('/pets', { params: { query } });
    if (!data) throw new Error(`status ${response.status}`, { cause: error });
    yield data;
    query = nextPage(response);
  }
}

/**
 * @param {Response} response
 * @returns {ListQuery | undefined}
 */
function nextPage(response) {
  // Only the query of the URL: the API key is for no other address.
  const next = /<[^>?]*\?([^>]*)>; rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
  return next === undefined ? undefined : Object.fromEntries(new URLSearchParams(next));
}

/**
 * @param {Response} received
 * @returns {Promise<Response>} a response with a `json()` that returns integers as bigint
 */
async function exactJson(received) {
  const text = await received.text();
  const response = new Response(text || null, received);
  // Without Content-Length, openapi-fetch does not call json().
  response.headers.set('Content-Length', String(text.length));
  const exact = (/** @type {string} */ token) => (isInteger(token) ? BigInt(token) : Number(token));
  return Object.assign(response, { json: () => Promise.resolve(parse(text, null, exact)) });
}

const fetchInTime = (/** @type {Request} */ request) =>
  globalThis.fetch(request, { signal: AbortSignal.timeout(30_000) });

const isTemporary = (/** @type {Response} */ { status, headers }) => {
  // When the limit per day is exceeded, it is up to 24 hours.
  if (Number(headers.get('Retry-After')) > MAX_RETRY_AFTER_SECONDS) return false;
  return headers.has('Retry-After') || status === 408 || status >= 500;
};
