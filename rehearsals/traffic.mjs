// @ts-check
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

const WORKERS = 4;
const PAUSE_MS = 10;
const RETRY_AFTER_MS = 100;
const RESPONSE_LIMIT_MS = 10_000;
/** A create that has not been confirmed by then is reported as broken. */
const RETRY_LIMIT_MS = 60_000;
/** No response, the Idempotency-Key is in use by an earlier attempt, or the service is unavailable. */
const RETRIED = [0, 409, 502, 503, 504];

/**
 * @typedef {object} Sent one request and its response
 * @property {'list' | 'create'} kind
 * @property {number} replica index
 * @property {number} status 0: no response
 * @property {number} startedAtMs by `performance.now()`
 * @property {number} endedAtMs by `performance.now()`
 */

/**
 * Sends lists and creates to replicas until it is stopped. A create is repeated with its
 * Idempotency-Key, on each replica in turn, until it is confirmed.
 */
export class Traffic {
  /** @type {Sent[]} */
  sent = [];
  /** The ids of confirmed animals by name. @type {Map<string, string>} */
  confirmed = new Map();
  /** Unexpected responses. @type {string[]} */
  broken = [];
  #isOver = false;

  /** @param {{ port: number }[]} replicas @param {string} key an API key */
  constructor(replicas, key) {
    this.replicas = replicas;
    this.key = key;
    this.workers = replicas.flatMap((_, replica) =>
      Array.from({ length: WORKERS }, () => [
        this.#work(() => this.#list(replica)),
        this.#work(() => this.#create(replica)),
      ]).flat(),
    );
  }

  /** Resolves when the creates in progress are confirmed. */
  async stop() {
    this.#isOver = true;
    await Promise.all(this.workers);
  }

  /** The longest time without a response of a kind with a status, in milliseconds. @param {Sent['kind']} kind @param {number} status @param {number} fromMs */
  longestGapMs(kind, status, fromMs) {
    let [lastMs, longestMs] = [fromMs, 0];
    for (const sent of this.sent) {
      if (sent.kind !== kind || sent.status !== status || sent.endedAtMs < fromMs) continue;
      longestMs = Math.max(longestMs, sent.endedAtMs - lastMs);
      lastMs = sent.endedAtMs;
    }
    return longestMs;
  }

  /** Searches for confirmed animals that are missing or exist twice. @param {import('pg').Client} database */
  async check(database) {
    const { rows } = await database.query(
      `SELECT name, string_agg(id::text, ' ') AS ids FROM pets WHERE name LIKE 'Rehearsal %' GROUP BY name`,
    );
    const stored = new Map(rows.map(({ name, ids }) => [name, ids]));
    const wrong = [...this.confirmed].filter(([name, id]) => stored.get(name) !== id);
    return [
      ...this.broken,
      ...wrong.map(([name, id]) => `${name} was ${id}, and is ${stored.get(name) ?? 'lost'}`),
    ];
  }

  /** @param {() => Promise<void>} step */
  async #work(step) {
    while (!this.#isOver) {
      await step();
      await delay(PAUSE_MS);
    }
  }

  /** @param {number} replica */
  async #list(replica) {
    const { status, text } = await this.#send('list', replica);
    if (status !== 200 && !RETRIED.includes(status)) this.broken.push(`list: ${status} ${text}`);
    if (status !== 200) await delay(RETRY_AFTER_MS);
  }

  /** @param {number} first replica */
  async #create(first) {
    const [name, idempotencyKey] = [`Rehearsal ${randomUUID()}`, randomUUID()];
    const deadlineMs = performance.now() + RETRY_LIMIT_MS;
    for (let attempt = 0; ; attempt++) {
      const replica = (first + attempt) % this.replicas.length;
      const { status, text } = await this.#send('create', replica, name, idempotencyKey);
      if (status === 201) {
        // Ids are int64, so JSON.parse could round them.
        this.confirmed.set(name, /"id":(\d+)/.exec(text)?.[1] ?? '');
        return;
      }
      if (!RETRIED.includes(status) || performance.now() > deadlineMs) {
        this.broken.push(`${name} is not confirmed: ${status} ${text}`);
        return;
      }
      await delay(RETRY_AFTER_MS);
    }
  }

  /** @param {Sent['kind']} kind @param {number} replica @param {string} [name] of a new animal @param {string} [idempotencyKey] */
  async #send(kind, replica, name, idempotencyKey = '') {
    const url = `http://127.0.0.1:${this.replicas[replica]?.port ?? 0}/v1/pets`;
    const headers = { Authorization: `Bearer ${this.key}` };
    const create = {
      method: 'POST',
      headers: {
        ...headers,
        'Content-Type': 'application/json',
        'Idempotency-Key': idempotencyKey,
      },
      body: JSON.stringify({ name, categoryId: 1 }),
    };
    const signal = AbortSignal.timeout(RESPONSE_LIMIT_MS);
    const startedAtMs = performance.now();
    const { status, text } = await fetch(url, { ...(name ? create : { headers }), signal })
      .then(async (response) => ({ status: response.status, text: await response.text() }))
      .catch((/** @type {unknown} */ error) => ({ status: 0, text: String(error) }));
    this.sent.push({ kind, replica, status, startedAtMs, endedAtMs: performance.now() });
    return { status, text };
  }
}
