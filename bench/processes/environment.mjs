// @ts-check
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { startPostgres } from './postgres.mjs';
import { startRedis } from './redis.mjs';

const CLI = fileURLToPath(new URL('../../dist/bundle/cli.js', import.meta.url));

/**
 * What all peers share.
 *
 * @typedef {object} Stage
 * @property {string} folder removed at the end
 * @property {pg.Client} database
 * @property {Record<string, string>} env where the database is, for libpq and as DATABASE_URL
 * @property {string | undefined} redisUrl undefined: there is no redis-server
 * @property {{ postgres: number, redis: number | undefined }} pids
 * @property {{ caller: string, rejected: string }} keys
 */

/**
 * Starts PostgreSQL and Redis, fills the store, and stops them when the work is done.
 *
 * @template Result
 * @param {number} animals
 * @param {AbortSignal} signal ends what it starts
 * @param {(stage: Stage) => Promise<Result>} work
 * @returns {Promise<Result>}
 */
export async function onStage(animals, signal, work) {
  const folder = await mkdtemp(join(tmpdir(), 'pets-bench-'));
  /** @type {(() => Promise<unknown>)[]} */
  const owned = [() => rm(folder, { recursive: true, force: true })];
  try {
    const postgres = await startPostgres(join(folder, 'data'));
    owned.push(postgres.close);
    const redis = await startRedis(folder);
    if (redis) owned.push(redis.close);
    else console.warn('Without redis-server the peers that count in Redis are skipped.');
    const database = new pg.Client(postgres.env.DATABASE_URL);
    await database.connect();
    owned.push(() => database.end());
    const keys = await fill(database, postgres.env, animals, signal);
    return await work({
      folder,
      database,
      env: postgres.env,
      redisUrl: redis?.url,
      pids: { postgres: postgres.pid, redis: redis?.pid },
      keys,
    });
  } finally {
    for (const end of owned.reverse()) await end();
  }
}

/**
 * Adds the schema, animals and keys as an operator does.
 *
 * @param {pg.Client} database
 * @param {Record<string, string>} env
 * @param {number} animals
 * @param {AbortSignal} signal
 */
async function fill(database, env, animals, signal) {
  /** @param {string[]} command */
  const cli = async (...command) => {
    const options = { env: { PATH: process.env.PATH, ...env }, signal };
    return (await promisify(execFile)(process.execPath, [CLI, ...command], options)).stdout;
  };
  /** @param {string} owner @param {string} limit per minute and per day */
  const issueKey = async (owner, limit) => {
    const plan = ['--plan', 'enterprise', '--per-minute', limit, '--per-day', limit];
    return JSON.parse(await cli('keys', 'issue', '--owner', owner, ...plan, '--json')).key;
  };
  await cli('db', 'migrate');
  await cli('db', 'seed', '--animals', String(animals), '--yes');
  const keys = {
    caller: await issueKey('caller', '1000000000'),
    rejected: await issueKey('rejected', '1'),
  };
  await database.query('VACUUM ANALYZE');
  await database.query('CHECKPOINT');
  return keys;
}
