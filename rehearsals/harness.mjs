// @ts-check
// What the rehearsals share: the command line, replicas, owners, and waiting.
import { Agent, get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import { SERVICE } from '../bench/comparison/peers.mjs';
import { runUntilStopped } from '../bench/processes/child-processes.mjs';
import { startPeer } from '../bench/processes/peer-process.mjs';

/** @type {typeof import('../src/product.js')} */
const { PRODUCT } = await import(new URL('../dist/product.js', import.meta.url).href);
/** @type {typeof import('../src/platform/access/key-format.js')} */
const { hashKey, KeyMaker, keyHint } = await import(
  new URL('../dist/platform/access/key-format.js', import.meta.url).href
);

const MAX_LINES = 10;
const WAIT_LIMIT_MS = 120_000;
const LIMIT_PER_DAY = 1_000_000;
const agent = new Agent({ keepAlive: true });

/** @typedef {import('../bench/processes/environment.mjs').Environment} Environment */
/** @typedef {import('../bench/processes/peer-process.mjs').PeerProcess} Replica */

/** The figures of a run, and the promises that did not hold. */
export class Outcome {
  /** @type {Record<string, number>} */
  figures = {};
  /** @type {string[]} */
  broken = [];

  /** @param {string} name @param {number} value */
  add(name, value) {
    this.figures[name] = (this.figures[name] ?? 0) + value;
  }

  /** @param {boolean} isKept @param {string} promise what is broken otherwise */
  check(isKept, promise) {
    if (!isKept) this.broken.push(promise);
  }
}

/**
 * Reads the command line, runs a rehearsal, and prints the figures. The process exits with 1 if a promise
 * is broken.
 *
 * @param {string} name of the npm script, after `rehearse:` @param {string} description for --help
 * @param {(outcome: Outcome, signal: AbortSignal, options: any) => Promise<void>} run stops its
 *   processes when the signal aborts
 * @param {(command: Command) => Command} [addOptions]
 */
export async function rehearse(name, description, run, addOptions = (command) => command) {
  const command = new Command(`npm run rehearse:${name} --`).description(description);
  const options = addOptions(command).parse().opts();
  await runUntilStopped(async (signal) => {
    const outcome = new Outcome();
    await run(outcome, signal, options);
    console.log(outcome.figures);
    for (const line of outcome.broken.slice(0, MAX_LINES)) console.error(`BROKEN  ${line}`);
    if (outcome.broken.length > 0) process.exitCode = 1;
    else console.log('Every promise held.');
  });
}

/**
 * Starts replicas of the built service, calls `work`, and stops them.
 *
 * @param {number} count @param {Environment} environment @param {Record<string, string>} env settings
 * @param {AbortSignal} signal @param {(replicas: Replica[]) => Promise<void>} work
 */
export async function withReplicas(count, environment, env, signal, work) {
  /** @type {Replica[]} */
  const replicas = [];
  try {
    while (replicas.length < count) {
      const name = `replica-${replicas.length + 1}`;
      const peer = { ...SERVICE, name, env: { ...SERVICE.env, ...env } };
      replicas.push(await startPeer(peer, environment, signal));
    }
    await work(replicas);
  } finally {
    await Promise.all(replicas.map((replica) => replica.stop()));
  }
}

/**
 * Waits until a condition holds, at most two minutes.
 *
 * @template Value
 * @param {string} title @param {() => Value | Promise<Value>} condition @param {AbortSignal} [signal]
 * @returns {Promise<NonNullable<Value>>} the first value that is not falsy
 */
export async function until(title, condition, signal) {
  const deadlineMs = performance.now() + WAIT_LIMIT_MS;
  for (; ; await delay(20, undefined, signal && { signal })) {
    const value = await condition();
    if (value) return value;
    if (performance.now() > deadlineMs) throw new Error(`not within two minutes: ${title}`);
  }
}

/**
 * @typedef {object} Owner
 * @property {string} key its API key
 * @property {number[]} used requests of the day, as the responses with 200 reported them
 */

/** Creates owners with one API key each, by SQL. @param {import('pg').Client} database @param {number} count @returns {Promise<Owner[]>} */
export async function createOwners(database, count) {
  const { rows } = await database.query('SELECT secret FROM key_secret');
  const maker = new KeyMaker(rows[0].secret, PRODUCT.keyPrefix);
  const keys = Array.from({ length: count }, () => maker.create());
  await database.query(
    `WITH issued AS (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) AS k (key, hash, hint)),
     created AS (INSERT INTO owners (name, plan, limit_per_minute, limit_per_day)
                 SELECT hash, 'enterprise', $4, $4 FROM issued RETURNING id, name)
     INSERT INTO api_keys (owner_id, hash, hint, has_proof)
     SELECT created.id, decode(issued.hash, 'hex'), issued.hint, true
       FROM issued JOIN created ON created.name = issued.hash`,
    [keys, keys.map(hashKey), keys.map(keyHint), LIMIT_PER_DAY],
  );
  return keys.map((key) => ({ key, used: [] }));
}

/** Sends one list of an owner. @param {number} port @param {Owner} owner @returns {Promise<number | string>} the status or the code of the error */
export function listOnce(port, owner) {
  const headers = { Authorization: `Bearer ${owner.key}` };
  return new Promise((resolve) => {
    const request = get({ port, path: '/v1/pets?limit=1', headers, agent }, (response) => {
      const day = /"day";r=(\d+)/.exec(String(response.headers['ratelimit']))?.[1];
      if (response.statusCode === 200) owner.used.push(LIMIT_PER_DAY - Number(day));
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    request.once('error', (/** @type {NodeJS.ErrnoException} */ { code = 'error' }) =>
      resolve(code),
    );
  });
}
