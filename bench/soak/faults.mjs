// @ts-check
import { setTimeout as delay } from 'node:timers/promises';
import { hashKey, keyHint, KeyMaker } from '#dist/platform/access/key-format.js';
import { freePort } from '../processes/ports.mjs';
import { startRedis } from '../processes/redis.mjs';
import { SoakClient } from './client.mjs';

const OUTAGE_MS = 1_500;
/** A revocation takes effect within five seconds, or later if another fault delays it. */
const REVOCATION_LIMIT_MS = 10_000;
const POLL_MS = 250;

/** @typedef {NonNullable<Awaited<ReturnType<typeof startRedis>>>} RedisServer */

/** A Redis server that can be unavailable for some time. */
export class RedisOutages {
  /** @type {RedisServer | undefined} */
  #server;

  /**
   * @param {string} folder
   * @param {number} port
   * @param {RedisServer} server
   */
  constructor(folder, port, server) {
    this.folder = folder;
    this.port = port;
    this.url = server.url;
    this.#server = server;
  }

  /** @param {string} folder @returns {Promise<RedisOutages | undefined>} undefined if redis-server is not installed */
  static async start(folder) {
    const port = await freePort();
    const server = await startRedis(folder, port);
    return server && new RedisOutages(folder, port, server);
  }

  /** Stops the server and starts an empty one later. */
  async interrupt() {
    await this.close();
    await delay(OUTAGE_MS);
    this.#server = await startRedis(this.folder, this.port);
  }

  async close() {
    await this.#server?.close();
    this.#server = undefined;
  }
}

/**
 * Terminates all database connections of the service.
 *
 * @param {import('pg').Client} database
 */
export function terminateConnections(database) {
  return database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
}

/**
 * Creates an API key, uses it, and revokes it.
 *
 * @param {import('pg').Client} database
 * @param {number} port of the service
 * @throws if the service still accepts the API key after the limit
 */
export async function revokeKey(database, port) {
  const secrets = await database.query('SELECT secret FROM key_secret');
  const key = new KeyMaker(secrets.rows[0].secret).create();
  const { rows } = await database.query(
    `INSERT INTO api_keys (owner_id, hash, hint, has_proof) SELECT min(id), $1, $2, true FROM owners WHERE name = 'caller' RETURNING id`,
    [Buffer.from(hashKey(key), 'hex'), keyHint(key)],
  );
  const client = new SoakClient(port);
  try {
    const status = async () => (await client.send('/v1/pets?limit=1', { key })).status;
    await waitUntil(async () => (await status()) === 200, 'The service rejects a new API key.');
    await database.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [rows[0].id]);
    await waitUntil(async () => (await status()) === 401, 'The service accepts a revoked API key.');
  } finally {
    client.close();
  }
}

/** @param {() => Promise<boolean>} condition @param {string} failure message of the error */
async function waitUntil(condition, failure) {
  const deadlineMs = performance.now() + REVOCATION_LIMIT_MS;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error(failure);
    await delay(POLL_MS);
  }
}
