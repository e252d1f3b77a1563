// @ts-check
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

const PAUSE_MS = 10;
const RETRY_AFTER_MS = 100;
const RESPONSE_LIMIT_MS = 10_000;
const CHECK_WORKERS = 8;
/** A create that has not been confirmed by then is reported as broken. */
const RETRY_LIMIT_MS = 60_000;
/** No response, the Idempotency-Key is in use by an earlier attempt, or the service is unavailable. */
const RETRIED = [0, 409, 502, 503, 504];

/**
 * @typedef {object} Sent one request and its response
 * @property {'list' | 'create' | 'check'} kind
 * @property {number} replica index
 * @property {number} status 0: no response
 * @property {number} startedAtMs by `performance.now()`
 * @property {number} endedAtMs by `performance.now()`
 *
 * @typedef {object} Confirmed the response 201 of a create
 * @property {string} name unique
 * @property {string} idempotencyKey
 * @property {string} id
 *
 * @typedef {{ method?: string, headers?: Record<string, string>, body?: string }} Request
 */

/**
 * Sends lists and creates to replicas until it is stopped. A worker sends its next request when it
 * has the response. A create is repeated with its Idempotency-Key, on each replica in turn, until
 * it is confirmed.
 */
export class Traffic {
  /** @type {Sent[]} */
  sent = [];
  /** @type {Confirmed[]} */
  confirmed = [];
  /** Unexpected responses. @type {string[]} */
  broken = [];
  #isOver = false;
  #startedAtMs = performance.now();

  /**
   * @param {{ port: number }[]} replicas
   * @param {string} key an API key
   * @param {{ listWorkers?: number, createWorkers?: number, pauseMs?: number }} [options] workers of
   *   each replica
   */
  constructor(replicas, key, { listWorkers = 4, createWorkers = 4, pauseMs = PAUSE_MS } = {}) {
    this.replicas = replicas;
    this.key = key;
    this.pauseMs = pauseMs;
    this.workers = replicas.flatMap((_, replica) => [
      ...Array.from({ length: listWorkers }, () => this.#work(() => this.#list(replica))),
      ...Array.from({ length: createWorkers }, () => this.#work(() => this.#create(replica))),
    ]);
  }

  /** Resolves when the creates in progress are confirmed. */
  async stop() {
    this.#isOver = true;
    await Promise.all(this.workers);
  }

  /**
   * Returns the number of requests of a kind by status, without the expected status.
   *
   * @param {Sent['kind']} kind
   * @param {number} expected
   */
  failures(kind, expected) {
    /** @type {Record<string, number>} */
    const counts = {};
    for (const sent of this.sent) {
      if (sent.kind !== kind || sent.status === expected) continue;
      counts[sent.status] = (counts[sent.status] ?? 0) + 1;
    }
    return counts;
  }

  /**
   * Returns the longest time without a response of a kind with a status, in milliseconds.
   *
   * @param {Sent['kind']} kind
   * @param {number} status
   * @param {number} [fromMs] of `performance.now()`; by default, the start of the traffic
   * @param {number} [toMs] of `performance.now()`
   */
  longestGapMs(kind, status, fromMs = this.#startedAtMs, toMs = Infinity) {
    let [lastMs, longestMs] = [fromMs, 0];
    for (const sent of this.sent) {
      if (sent.kind !== kind || sent.status !== status) continue;
      if (sent.endedAtMs < fromMs || sent.endedAtMs > toMs) continue;
      if (sent.endedAtMs - lastMs > longestMs) longestMs = sent.endedAtMs - lastMs;
      lastMs = sent.endedAtMs;
    }
    return longestMs;
  }

  /**
   * Repeats every confirmed create: the response must have the same id. Then searches the database
   * for animals that are missing, have another id, or exist twice.
   *
   * @param {import('pg').Client} database
   * @returns {Promise<string[]>} broken promises
   */
  async check(database) {
    const broken = [...this.broken];
    const { rows } = await database.query(
      `SELECT name, array_agg(id::text) AS ids FROM pets WHERE name LIKE 'Rehearsal %' GROUP BY name`,
    );
    const stored = new Map(rows.map(({ name, ids }) => [name, ids]));
    for (const [name, ids] of stored) {
      if (ids.length > 1) broken.push(`${name} exists ${ids.length} times`);
    }
    const queue = this.confirmed.values();
    const repeat = async () => {
      // The workers share the iterator.
      for (const { name, idempotencyKey, id } of queue) {
        if (!stored.get(name)?.includes(id)) broken.push(`${name} was ${id} and is lost`);
        const replica = Number(id) % this.replicas.length;
        const { status, text } = await this.#send('check', replica, creation(name, idempotencyKey));
        if (status !== 201 || idOf(text) !== id)
          broken.push(`${name} was ${id}: ${status} ${text}`);
      }
    };
    await Promise.all(Array.from({ length: CHECK_WORKERS }, repeat));
    return broken;
  }

  /** @param {() => Promise<void>} step */
  async #work(step) {
    while (!this.#isOver) {
      await step();
      await delay(this.pauseMs);
    }
  }

  /** @param {number} replica */
  async #list(replica) {
    const { status, text } = await this.#send('list', replica, {});
    if (status !== 200 && !RETRIED.includes(status)) this.broken.push(`list: ${status} ${text}`);
    if (status !== 200) await delay(RETRY_AFTER_MS);
  }

  /** @param {number} first replica */
  async #create(first) {
    const [name, idempotencyKey] = [`Rehearsal ${randomUUID()}`, randomUUID()];
    const deadlineMs = performance.now() + RETRY_LIMIT_MS;
    for (let attempt = 0; ; attempt++) {
      const replica = (first + attempt) % this.replicas.length;
      const request = creation(name, idempotencyKey);
      const { status, text } = await this.#send('create', replica, request);
      if (status === 201) {
        this.confirmed.push({ name, idempotencyKey, id: idOf(text) });
        return;
      }
      if (!RETRIED.includes(status) || performance.now() > deadlineMs) {
        this.broken.push(`${name} is not confirmed: ${status} ${text}`);
        return;
      }
      await delay(RETRY_AFTER_MS);
    }
  }

  /** @param {Sent['kind']} kind @param {number} replica @param {Request} request */
  async #send(kind, replica, { headers, ...request }) {
    const url = `http://127.0.0.1:${this.replicas[replica]?.port ?? 0}/v1/pets`;
    const signal = AbortSignal.timeout(RESPONSE_LIMIT_MS);
    const startedAtMs = performance.now();
    const { status, text } = await fetch(url, {
      ...request,
      headers: { ...headers, Authorization: `Bearer ${this.key}` },
      signal,
    })
      .then(async (response) => ({ status: response.status, text: await response.text() }))
      .catch((/** @type {unknown} */ error) => ({ status: 0, text: String(error) }));
    this.sent.push({ kind, replica, status, startedAtMs, endedAtMs: performance.now() });
    return { status, text };
  }
}

/** @param {string} name @param {string} idempotencyKey @returns {Request} */
function creation(name, idempotencyKey) {
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey };
  return { method: 'POST', headers, body: JSON.stringify({ name, categoryId: 1 }) };
}

/** Ids are int64, so JSON.parse could round them. @param {string} text */
function idOf(text) {
  return /"id":(\d+)/.exec(text)?.[1] ?? '';
}
