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

const CLI = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/**
 * What all measured servers share.
 *
 * @typedef {object} Environment
 * @property {string} folder for temporary files
 * @property {pg.Client} database
 * @property {Record<string, string>} databaseEnv libpq's variables and DATABASE_URL
 * @property {string | undefined} redisUrl undefined if redis-server is not installed
 * @property {{ postgres: number, redis: number | undefined }} pids
 * @property {{ caller: string, rejected: string }} keys API keys; `rejected` may send one request per day
 */

/**
 * Starts PostgreSQL and Redis, adds data, runs `work`, and stops both servers.
 *
 * @template Result
 * @param {number} animals
 * @param {AbortSignal} signal aborts the setup
 * @param {(environment: Environment) => Promise<Result>} work
 * @returns {Promise<Result>}
 */
export async function withEnvironment(animals, signal, work) {
  const folder = await mkdtemp(join(tmpdir(), 'pets-bench-'));
  /** @type {(() => Promise<unknown>)[]} */
  const cleanups = [() => rm(folder, { recursive: true, force: true })];
  try {
    const postgres = await startPostgres(join(folder, 'data'));
    cleanups.push(postgres.close);
    const redis = await startRedis(folder);
    if (redis) cleanups.push(redis.close);
    else
      console.warn(
        'redis-server is not installed: skipping the servers with rate limit counters in Redis.',
      );
    const database = new pg.Client(postgres.env.DATABASE_URL);
    await database.connect();
    cleanups.push(() => database.end());
    const keys = await addData(database, postgres.env, animals, signal);
    return await work({
      folder,
      database,
      databaseEnv: postgres.env,
      redisUrl: redis?.url,
      pids: { postgres: postgres.pid, redis: redis?.pid },
      keys,
    });
  } finally {
    for (const cleanUp of cleanups.reverse()) await cleanUp();
  }
}

/**
 * Creates the tables, animals and API keys with the service's CLI.
 *
 * @param {pg.Client} database
 * @param {Record<string, string>} env
 * @param {number} animals
 * @param {AbortSignal} signal
 */
async function addData(database, env, animals, signal) {
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
