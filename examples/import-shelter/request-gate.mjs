// @ts-check
// Decides when all workers may send the next request, from the published headers:
// X-RateLimit-Remaining and X-RateLimit-Reset on every response, Retry-After on a 429. The aim is
// to
// avoid every 429, because repeated rejections may lead to a ban of the key.

import { setTimeout as sleep } from 'node:timers/promises';

const SMALL_JITTER_MS = 250;
const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 60_000;
/** Long waits consist of slices, so that a computer notices the time after a suspension. */
const MAX_SLICE_MS = 15_000;

/**
 * Exponential backoff with full jitter.
 * @param {number} attempt from 1
 * @returns {number} milliseconds, from 0 to 60,000
 */
export function backoffMs(attempt) {
  return Math.random() * Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempt - 1));
}

/**
 * @param {Headers} headers
 * @returns {number | undefined} milliseconds of Retry-After, in seconds or as a date (RFC 9110,
 *   10.2.3)
 */
export function retryAfterMs(headers) {
  const value = headers.get('retry-after')?.trim();
  if (!value) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - serverNowMs(headers));
}

/**
 * @param {Headers} headers
 * @returns {number} milliseconds since 1970, by the server's Date header if present, as clocks
 *   differ
 */
function serverNowMs(headers) {
  const date = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(date) ? Date.now() : date;
}

export class RequestGate {
  /** End of the wait, in milliseconds since 1970, for display. 0: not waiting. */
  waitingUntilMs = 0;
  /** Total time spent waiting for the limit, in milliseconds. */
  waitedMs = 0;
  #inProgress = 0;
  #pausedUntilMs = 0;
  /** Consecutive rejections, each after the wait of the previous Retry-After. */
  #rejections = 0;
  /**
   * The active windows by their Reset. A response reports one window, of a minute or a day, so that
   * several can be known.
   * @type {Map<string, { endsAtMs: number, remaining: number }>}
   */
  #windows = new Map();
  /** The window state is unknown. A single request is sent to learn it. */
  #probing = true;
  /** @type {(() => void)[]} */
  #waiters = [];
  /** @type {Promise<void> | undefined} */
  #waiting;
  #signal;

  /** @param {AbortSignal} signal ends every wait */
  constructor(signal) {
    this.#signal = signal;
  }

  /**
   * Waits until a request may be sent. The caller calls `leave` once afterwards.
   * @returns {Promise<number>} the current time, in milliseconds since 1970
   * @throws {Error} the signal's reason, or an AbortError
   */
  async enter() {
    for (;;) {
      this.#signal.throwIfAborted();
      const nowMs = Date.now();
      this.#removeEndedWindows(nowMs);
      const untilMs = this.#closedUntilMs();
      if (untilMs > nowMs) {
        await this.#waitUntil(untilMs);
      } else if (this.#inProgress >= this.#maxInProgress()) {
        await new Promise((resolve) => this.#waiters.push(() => resolve(undefined)));
      } else {
        this.#inProgress += 1;
        return nowMs;
      }
    }
  }

  /** @param {Headers} [headers] of the response, if any */
  leave(headers) {
    this.#inProgress -= 1;
    if (headers) {
      this.#probing = false;
      this.#learn(headers);
    }
    this.#wake();
  }

  /** A response other than 429 arrived. */
  accepted() {
    this.#rejections = 0;
  }

  /**
   * A 429 arrived. No worker sends a request before its Retry-After.
   * @param {Headers} headers
   * @param {number} sentAtMs when the rejected request was sent, as `enter` returned it
   */
  rejected(headers, sentAtMs) {
    // Requests in progress at the time of the first 429 belong to the same rejection.
    const isNewRejection = sentAtMs >= this.#pausedUntilMs;
    if (isNewRejection) this.#rejections += 1;
    const extraMs =
      this.#rejections > 1 ? backoffMs(this.#rejections) : Math.random() * SMALL_JITTER_MS;
    const pauseMs = (retryAfterMs(headers) ?? 1000) + extraMs;
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, Date.now() + pauseMs);
    this.#probing = true;
  }

  /** @param {Headers} headers */
  #learn(headers) {
    const reset = headers.get('x-ratelimit-reset') ?? '';
    const remaining = headers.get('x-ratelimit-remaining') ?? '';
    if (!/^\d+$/.test(reset) || !/^\d+$/.test(remaining)) return;
    const known = this.#windows.get(reset);
    const leftMs = Number(reset) * 1000 - serverNowMs(headers);
    this.#windows.set(reset, {
      endsAtMs: known?.endsAtMs ?? Date.now() + leftMs + Math.random() * SMALL_JITTER_MS,
      // Responses may arrive out of order. The lowest number is the latest.
      remaining: Math.min(known?.remaining ?? Infinity, Number(remaining)),
    });
  }

  /** @param {number} nowMs */
  #removeEndedWindows(nowMs) {
    for (const [reset, { endsAtMs, remaining }] of this.#windows) {
      if (endsAtMs > nowMs) continue;
      this.#windows.delete(reset);
      if (remaining === 0) this.#probing = true;
    }
  }

  /** @returns {number} milliseconds since 1970 */
  #closedUntilMs() {
    let untilMs = this.#pausedUntilMs;
    for (const { endsAtMs, remaining } of this.#windows.values()) {
      if (remaining === 0) untilMs = Math.max(untilMs, endsAtMs);
    }
    return untilMs;
  }

  /**
   * @returns {number} maximum number of requests in progress, which no response may have counted
   * yet
   */
  #maxInProgress() {
    if (this.#probing) return 1;
    return Math.min(...[...this.#windows.values()].map(({ remaining }) => remaining));
  }

  /**
   * All workers share one wait.
   * @param {number} untilMs milliseconds since 1970
   */
  async #waitUntil(untilMs) {
    this.#waiting ??= this.#sleepUntil(untilMs).finally(() => {
      this.#waiting = undefined;
    });
    await this.#waiting;
  }

  /** @param {number} untilMs milliseconds since 1970 */
  async #sleepUntil(untilMs) {
    const startedAtMs = Date.now();
    this.waitingUntilMs = untilMs;
    try {
      while (Date.now() < untilMs) {
        const sliceMs = Math.min(MAX_SLICE_MS, untilMs - Date.now());
        await sleep(sliceMs, undefined, { signal: this.#signal });
      }
    } finally {
      this.waitedMs += Date.now() - startedAtMs;
      this.waitingUntilMs = 0;
    }
  }

  /** Deferred, because the worker that handles the response may stop the import. */
  #wake() {
    setImmediate(() => {
      for (const resolve of this.#waiters.splice(0)) resolve();
    });
  }
}
