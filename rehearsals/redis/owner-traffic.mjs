// @ts-check
import { Agent, get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { hashKey, KeyMaker, keyHint } from '#dist/platform/access/key-format.js';

const RATE_PER_SECOND = 200;

/**
 * @typedef {object} Owner
 * @property {string} id
 * @property {string} key its API key
 * @property {number} limit per day
 * @property {number} allowed requests that got 200
 * @property {number[]} used requests of the day, as the responses with 200 of a step reported them
 */

/**
 * @param {import('pg').Client} database
 * @param {number} count
 * @param {number} limit per day
 * @returns {Promise<Owner[]>}
 */
export async function createOwners(database, count, limit) {
  const { rows } = await database.query('SELECT secret FROM key_secret');
  const maker = new KeyMaker(rows[0].secret);
  const owners = [];
  while (owners.length < count) {
    const key = maker.create();
    const inserted = await database.query(
      `WITH owner AS (INSERT INTO owners (name, plan, limit_per_minute, limit_per_day)
                      VALUES ($1, 'enterprise', 1000000, $2) RETURNING id)
       INSERT INTO api_keys (owner_id, hash, hint, has_proof)
       SELECT id, $3, $1, true FROM owner RETURNING owner_id`,
      [keyHint(key), limit, Buffer.from(hashKey(key), 'hex')],
    );
    owners.push({ id: inserted.rows[0].owner_id, key, limit, allowed: 0, used: [] });
  }
  return owners;
}

/** Sends lists of each owner in turn to each replica in turn, at a fixed rate, until it is stopped. */
export class OwnerTraffic {
  /** Responses by status. @type {Record<string, number>} */
  statuses = {};
  #agent = new Agent({ keepAlive: true });
  #isOver = false;

  /** @param {Owner[]} owners @param {{ port: number }[]} replicas */
  constructor(owners, replicas) {
    this.done = this.#run(owners, replicas);
  }

  async stop() {
    this.#isOver = true;
    await this.done;
    this.#agent.destroy();
  }

  /** @param {Owner[]} owners @param {{ port: number }[]} replicas */
  async #run(owners, replicas) {
    const startedAtMs = performance.now();
    /** @type {Promise<void>[]} */
    const requests = [];
    while (!this.#isOver) {
      const due = ((performance.now() - startedAtMs) / 1_000) * RATE_PER_SECOND;
      while (requests.length < due) {
        const owner = /** @type {Owner} */ (owners[requests.length % owners.length]);
        const turn = requests.length + Math.floor(requests.length / owners.length);
        requests.push(this.#list(owner, replicas[turn % replicas.length]?.port ?? 0));
      }
      await delay(5);
    }
    await Promise.all(requests);
  }

  /** @param {Owner} owner @param {number} port @returns {Promise<void>} */
  #list(owner, port) {
    const headers = { Authorization: `Bearer ${owner.key}` };
    const options = { port, path: '/v1/pets?limit=1', headers, agent: this.#agent };
    return new Promise((resolve) => {
      const end = (/** @type {string | number} */ status) => {
        this.statuses[status] = (this.statuses[status] ?? 0) + 1;
        resolve();
      };
      const request = get(options, (response) => {
        const day = /"day";r=(\d+)/.exec(String(response.headers['ratelimit']))?.[1];
        if (response.statusCode === 200) {
          owner.allowed++;
          owner.used.push(owner.limit - Number(day));
        }
        response.resume().once('end', () => end(response.statusCode ?? 0));
      });
      request.once('error', (/** @type {NodeJS.ErrnoException} */ { code }) =>
        end(code ?? 'error'),
      );
    });
  }
}
