// @ts-check
// Decides when the workers may send the next request, from the headers of the responses. The aim is
// to avoid every 429, because repeated rejections may lead to a ban of the API key.

import { setTimeout as sleep } from 'node:timers/promises';

const REQUEST_TIMEOUT_MS = 30_000;
const MAX_BACKOFF_MS = 60_000;
const JITTER_MS = 250;
/** Long waits consist of slices, so that a computer notices the time after a suspension. */
const MAX_SLICE_MS = 15_000;

/** @typedef {{ quota: number, lengthMs: number, remaining: number, endsAtMs: number }} Window */

export class RateGate {
  requests = 0;
  tooManyRequests = 0;
  /** Total time spent waiting for the limit, in milliseconds. */
  waitedMs = 0;
  #signal;
  #startedAtMs = Date.now();
  #inProgress = 0;
  /** Requests that may be in progress. While the window is unknown, a single one probes it. */
  #allowed = 1;
  #reset = '';
  #opensAtMs = 0;
  /** Consecutive 429 responses, each after the wait of the previous one. */
  #rejections = 0;
  /** @type {Window[]} */
  #windows = [];
  /** Identifies the requests that were sent at least once. */
  #sent = new Set();
  /** @type {(() => void)[]} */
  #waiters = [];
  /** @type {Promise<void> | undefined} */
  #wait;

  /** @param {AbortSignal} signal ends every wait */
  constructor(signal) {
    this.#signal = signal;
  }

  /** Requests that were sent again. */
  get retries() {
    return this.requests - this.#sent.size;
  }

  /** End of the wait, in milliseconds since 1970. 0: not waiting. */
  get waitingUntilMs() {
    return this.#wait ? this.#opensAtMs : 0;
  }

  /**
   * Sends a request as soon as the limit allows it.
   * @param {Request} request
   * @returns {Promise<Response>} any response except 429
   * @throws {Error} of fetch, or the signal's reason
   */
  fetch = async (request) => {
    for (;;) {
      await this.#enter();
      const sentAtMs = Date.now();
      this.requests += 1;
      this.#sent.add(request.headers.get('Idempotency-Key') ?? request.url);
      try {
        const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
        const response = await fetch(request.clone(), { signal });
        this.#learn(response.headers);
        if (response.status !== 429) {
          this.#rejections = 0;
          return response;
        }
        this.tooManyRequests += 1;
        this.#close(response.headers, sentAtMs);
      } finally {
        this.#inProgress -= 1;
        // Deferred, because the worker that handles the response may stop the import.
        setImmediate(() => this.#waiters.splice(0).forEach((resolve) => resolve()));
      }
    }
  };

  /**
   * @param {number} count further requests
   * @returns {number} milliseconds until they are sent, by the limits and the speed so far; 0
   *   before the first request
   */
  remainingMs(count) {
    if (this.requests === 0 || count === 0) return 0;
    const nowMs = Date.now();
    const sendingMs = nowMs - this.#startedAtMs - this.waitedMs;
    const msPerRequest = sendingMs / Math.max(1, this.requests);
    const limitsMs = this.#windows.map(({ quota, lengthMs, remaining, endsAtMs }) => {
      const later = endsAtMs > nowMs ? count - remaining : count - quota;
      if (later <= 0 || quota === 0) return 0;
      const fullWindows = Math.floor((later - 1) / quota);
      const lastWindow = later - fullWindows * quota;
      const startMs = Math.max(0, endsAtMs - nowMs);
      return startMs + fullWindows * lengthMs + lastWindow * msPerRequest;
    });
    const pauseMs = Math.max(0, this.#opensAtMs - nowMs);
    return Math.max(pauseMs + count * msPerRequest, ...limitsMs);
  }

  async #enter() {
    this.#signal.throwIfAborted();
    while (this.#opensAtMs > Date.now() || this.#inProgress >= this.#allowed) {
      if (this.#opensAtMs > Date.now()) {
        this.#wait ??= this.#waitForLimit().finally(() => (this.#wait = undefined));
        await this.#wait;
      } else {
        await new Promise((resolve) => this.#waiters.push(() => resolve(undefined)));
      }
      this.#signal.throwIfAborted();
    }
    this.#inProgress += 1;
  }

  /** All workers share one wait. */
  async #waitForLimit() {
    while (this.#opensAtMs > Date.now()) {
      const startedAtMs = Date.now();
      const sliceMs = Math.min(MAX_SLICE_MS, this.#opensAtMs - startedAtMs);
      await sleep(sliceMs, undefined, { signal: this.#signal });
      this.waitedMs += Date.now() - startedAtMs;
    }
  }

  /** @param {Headers} headers */
  #learn(headers) {
    const serverNowMs = Date.parse(headers.get('Date') ?? '') || Date.now();
    const reset = headers.get('X-RateLimit-Reset');
    const remaining = headers.get('X-RateLimit-Remaining');
    if (reset !== null && remaining !== null) {
      // Responses may arrive out of order. The lowest number is the latest.
      const isSame = reset === this.#reset;
      this.#allowed = isSame ? Math.min(this.#allowed, Number(remaining)) : Number(remaining);
      this.#reset = reset;
      if (this.#allowed === 0) {
        this.#pauseUntil(Date.now() + Number(reset) * 1000 - serverNowMs);
      }
    } else {
      this.#allowed = Infinity;
    }
    const policies = itemsOf(headers.get('RateLimit-Policy'));
    this.#windows = itemsOf(headers.get('RateLimit')).map(([left, endsInSeconds], index) => ({
      quota: policies[index]?.[0] ?? 0,
      lengthMs: (policies[index]?.[1] ?? 0) * 1000,
      remaining: left,
      endsAtMs: Date.now() + endsInSeconds * 1000,
    }));
  }

  /**
   * After a 429, no worker sends a request before its Retry-After.
   * @param {Headers} headers
   * @param {number} sentAtMs when the rejected request was sent
   */
  #close(headers, sentAtMs) {
    // Requests in progress at the time of the first 429 belong to the same rejection.
    if (sentAtMs >= this.#opensAtMs) this.#rejections += 1;
    const backoffMs = Math.min(MAX_BACKOFF_MS, 250 * 2 ** this.#rejections);
    const extraMs = this.#rejections > 1 ? Math.random() * backoffMs : 0;
    const retryAfterMs = Number(headers.get('Retry-After') ?? 1) * 1000;
    this.#pauseUntil(Date.now() + retryAfterMs + extraMs);
  }

  /** @param {number} timeMs milliseconds since 1970 */
  #pauseUntil(timeMs) {
    this.#opensAtMs = Math.max(this.#opensAtMs, timeMs + Math.random() * JITTER_MS);
    this.#allowed = 1;
    this.#reset = '';
  }
}

/**
 * @param {string | null} header `RateLimit` or `RateLimit-Policy`
 * @returns {[number, number][]} the requests and the seconds of each window
 */
function itemsOf(header) {
  const items = (header ?? '').matchAll(/;[qr]=(\d+);[wt]=(\d+)/g);
  return [...items].map(([, requests, seconds]) => [Number(requests), Number(seconds)]);
}
