// @ts-check
import { chmodSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from './postgres.mjs';
import { startRedis } from './redis.mjs';
import { fillStore, ROOT } from './store.mjs';

/**
 * @typedef {import('./store.mjs').Store} Store
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
      const env = { PGHOST: '127.0.0.1', PGPORT: String(postgres.port), PGUSER: user };
      return fillStore(database, { ...env, PGDATABASE: name }, { animals, project }, signal);
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
