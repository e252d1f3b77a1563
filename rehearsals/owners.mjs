// @ts-check
import { Agent, get } from 'node:http';
import { hashKey, KeyMaker, keyHint } from '#dist/platform/access/key-format.js';

/**
 * @typedef {object} Owner
 * @property {string} key its API key
 * @property {number} limit per day
 * @property {number[]} used requests of the day, as the responses with 200 reported them
 */

const agent = new Agent({ keepAlive: true });

/**
 * Creates owners with one API key each, by SQL.
 *
 * @param {import('pg').Client} database
 * @param {number} count
 * @param {number} limit per day
 * @param {number} [perMinute]
 * @returns {Promise<Owner[]>}
 */
export async function createOwners(database, count, limit, perMinute = 1_000_000) {
  const { rows } = await database.query('SELECT secret FROM key_secret');
  const maker = new KeyMaker(rows[0].secret);
  const keys = Array.from({ length: count }, () => maker.create());
  await database.query(
    `WITH issued AS (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) AS k (key, hash, hint)),
     created AS (INSERT INTO owners (name, plan, limit_per_minute, limit_per_day)
                 SELECT hash, 'enterprise', $4, $5 FROM issued RETURNING id, name)
     INSERT INTO api_keys (owner_id, hash, hint, has_proof)
     SELECT created.id, decode(issued.hash, 'hex'), issued.hint, true
       FROM issued JOIN created ON created.name = issued.hash`,
    [keys, keys.map(hashKey), keys.map(keyHint), perMinute, limit],
  );
  return keys.map((key) => ({ key, limit, used: [] }));
}

/** Sends one list of an owner. @param {number} port @param {Owner} owner @returns {Promise<number | string>} the status or the code of the error */
export function listOnce(port, owner) {
  const headers = { Authorization: `Bearer ${owner.key}` };
  return new Promise((resolve) => {
    const request = get({ port, path: '/v1/pets?limit=1', headers, agent }, (response) => {
      const day = /"day";r=(\d+)/.exec(String(response.headers['ratelimit']))?.[1];
      if (response.statusCode === 200) owner.used.push(owner.limit - Number(day));
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    request.once('error', (/** @type {NodeJS.ErrnoException} */ { code = 'error' }) =>
      resolve(code),
    );
  });
}
