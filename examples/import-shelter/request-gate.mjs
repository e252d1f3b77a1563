// @ts-check
// Decides when the next request may leave, for all workers together. It reads only the published
// headers: X-RateLimit-Remaining and X-RateLimit-Reset on every answer, Retry-After on a 429.
// The aim is to get no 429 at all, since repeated refusals may lead to a ban of the key.

import { setTimeout as sleep } from 'node:timers/promises';

const SMALL_JITTER_MS = 250;
const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 60_000;
/** Long waits are slept in slices, so that a computer that was suspended notices the time. */
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
 * @returns {number | undefined} milliseconds that Retry-After asks for, in seconds or as a date (RFC 9110, 10.2.3)
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
 * @returns {number} milliseconds since 1970 by the server's clock where it tells it: the two clocks may differ
 */
function serverNowMs(headers) {
  const date = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(date) ? Date.now() : date;
}

export class RequestGate {
  /** Milliseconds since 1970 until which nothing is sent; for display. */
  waitingUntilMs = 0;
  /** Time during which nothing was sent because of the limit, in milliseconds. */
  waitedMs = 0;
  #inFlight = 0;
  #pausedUntilMs = 0;
  /** Consecutive refusals, each of them after the wait that the one before asked for. */
  #refusals = 0;
  /**
   * What is known of the windows that run, by their Reset. The service tells one window an answer
   * (a minute or a day), so more than one may be known.
   * @type {Map<string, { endsAtMs: number, remaining: number }>}
   */
  #windows = new Map();
  /** Nothing is known of the budget yet: one request goes ahead alone and finds out. */
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
   * Waits until a request may be sent. Each call that returns is followed by one call of `leave`.
   * @returns {Promise<number>} when it was let through, in milliseconds since 1970
   * @throws {Error} the signal's reason, or an AbortError
   */
  async enter() {
    for (;;) {
      this.#signal.throwIfAborted();
      const nowMs = Date.now();
      this.#forgetEndedWindows(nowMs);
      const untilMs = this.#closedUntilMs();
      if (untilMs > nowMs) {
        await this.#waitUntil(untilMs);
      } else if (this.#inFlight >= this.#mayBeInFlight()) {
        await new Promise((resolve) => this.#waiters.push(() => resolve(undefined)));
      } else {
        this.#inFlight += 1;
        return nowMs;
      }
    }
  }

  /** @param {Headers} [headers] of the answer; none when there was no answer */
  leave(headers) {
    this.#inFlight -= 1;
    if (headers) {
      this.#probing = false;
      this.#learn(headers);
    }
    this.#wake();
  }

  /** An answer other than 429 arrived. */
  accepted() {
    this.#refusals = 0;
  }

  /**
   * A 429 arrived: nobody sends before the time it names.
   * @param {Headers} headers
   * @param {number} sentAtMs when the refused request was let through
   */
  refused(headers, sentAtMs) {
    // Requests that were under way when the first 429 came belong to the same refusal.
    const isNewRefusal = sentAtMs >= this.#pausedUntilMs;
    if (isNewRefusal) this.#refusals += 1;
    const extraMs =
      this.#refusals > 1 ? backoffMs(this.#refusals) : Math.random() * SMALL_JITTER_MS;
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
      // Answers may overtake each other; the lowest number is the latest.
      remaining: Math.min(known?.remaining ?? Infinity, Number(remaining)),
    });
  }

  /** @param {number} nowMs */
  #forgetEndedWindows(nowMs) {
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

  /** @returns {number} requests; those in flight may not be counted in any answer yet */
  #mayBeInFlight() {
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

  /** Later, and not at once: whoever reads the answer first may stop everything (a refused key). */
  #wake() {
    setImmediate(() => {
      for (const resolve of this.#waiters.splice(0)) resolve();
    });
  }
}
