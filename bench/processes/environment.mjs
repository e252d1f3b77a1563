// @ts-check
import { execFile } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { programOf } from '../comparison/peers.mjs';
import { startPostgres } from './postgres.mjs';
import { startRedis } from './redis.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const INSERT_ANIMALS = `
  INSERT INTO pets (name, category_id, status)
  SELECT 'Animal ' || n, 1 + n % 5, (ARRAY['available', 'pending', 'sold'])[1 + n % 3]
    FROM generate_series(1, $1::integer) AS n`;

/**
 * A database with animals and API keys.
 *
 * @typedef {object} Store
 * @property {import('pg').Client} database
 * @property {Record<string, string>} env libpq's variables and DATABASE_URL
 * @property {{ caller: string, rejected: string }} keys API keys; `rejected` may send one request per day
 * @property {(...command: string[]) => Promise<string>} cli runs a command for operators and returns its output
 *
 * What all measured servers share.
 *
 * @typedef {object} Environment
 * @property {string} folder for temporary files
 * @property {string | undefined} redisUrl undefined if redis-server is not installed
 * @property {{ postgres: number, redis: number | undefined }} pids
 * @property {Store} store
 * @property {Store | undefined} earlier with the schema of an earlier commit
 */

/**
 * Starts PostgreSQL and Redis, adds data, runs `work`, and stops both servers.
 *
 * @template Result
 * @param {{ animals: number, earlier?: string | undefined }} options
 * @param {AbortSignal} signal aborts the setup
 * @param {(environment: Environment) => Promise<Result>} work
 * @returns {Promise<Result>}
 */
export async function withEnvironment({ animals, earlier }, signal, work) {
  const folder = await mkdtemp(join(tmpdir(), 'pets-bench-'));
  // PostgreSQL may run as another user.
  chmodSync(folder, 0o755);
  /** @type {(() => Promise<unknown>)[]} */
  const cleanups = [() => rm(folder, { recursive: true, force: true })];
  try {
    const postgres = await startPostgres(join(folder, 'postgres'));
    cleanups.push(postgres.close);
    const redis = await startRedis(folder);
    if (redis) cleanups.push(redis.close);
    else console.warn('redis-server is not installed: skipping the servers that need Redis.');

    /** @param {string} name @param {string} project @returns {Promise<Store>} */
    const createStore = async (name, project) => {
      const server = await postgres.connect('postgres');
      const { user = '' } = server;
      await server.query(`CREATE DATABASE ${name}`).finally(() => server.end());
      const database = await postgres.connect(name);
      cleanups.push(() => database.end());
      const [PGHOST, PGPORT] = ['127.0.0.1', String(postgres.port)];
      const DATABASE_URL = `postgres://${user}@${PGHOST}:${PGPORT}/${name}`;
      const env = { PGHOST, PGPORT, PGUSER: user, PGDATABASE: name, DATABASE_URL };
      /** @param {string[]} command */
      const cli = async (...command) => {
        const program = [programOf(project, 'cli'), ...command];
        const cliEnv = { PATH: process.env.PATH, ...env };
        return (await promisify(execFile)(process.execPath, program, { env: cliEnv, signal }))
          .stdout;
      };
      await cli('db', 'migrate');
      await database.query(INSERT_ANIMALS, [animals]);
      await database.query('VACUUM ANALYZE');
      /** @param {string} owner @param {string} limit per minute and per day */
      const issueKey = async (owner, limit) => {
        const plan = ['--plan', 'enterprise', '--per-minute', limit, '--per-day', limit];
        return JSON.parse(await cli('keys', 'issue', '--owner', owner, ...plan, '--json')).key;
      };
      const keys = {
        caller: await issueKey('caller', '1000000000'),
        rejected: await issueKey('rejected', '1'),
      };
      return { database, env, keys, cli };
    };
    const store = await createStore('store', ROOT);
    const earlierStore = earlier === undefined ? undefined : await createStore('earlier', earlier);
    await store.database.query('CHECKPOINT');
    const pids = { postgres: postgres.pid, redis: redis?.pid };
    return await work({ folder, redisUrl: redis?.url, pids, store, earlier: earlierStore });
  } finally {
    for (const cleanUp of cleanups.reverse()) await cleanUp();
  }
}
