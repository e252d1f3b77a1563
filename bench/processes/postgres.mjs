// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { clusterIn, ensureCluster, SUPERUSER } from '#dist/platform/database/embedded/cluster.js';
import { pathOf } from '#dist/platform/database/embedded/programs.js';
import { killOnExit } from './child-processes.mjs';
import { freePort, waitUntilListening } from './ports.mjs';

const DATABASE = 'bench';
const START_LIMIT_MS = 60_000;
const POLL_INTERVAL_MS = 20;

/**
 * `max_connections` is enough for the pools of all servers. All other settings are the defaults that
 * make a 201 durable.
 */
const SETTINGS = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  max_connections: '200',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
};

/**
 * Starts a PostgreSQL server from the embedded binaries, with an empty database.
 *
 * @param {string} folder for its files, is created
 * @returns {Promise<{ pid: number, env: Record<string, string>, close: () => Promise<void> }>} `env`: libpq's
 *   variables and DATABASE_URL
 */
export async function startPostgres(folder) {
  await mkdir(folder);
  const programs = await ensureCluster(folder);
  const cluster = clusterIn(folder);
  const port = await freePort();
  const settings = Object.entries({ ...SETTINGS, port: String(port) });
  const options = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = spawn(join(programs.folder, 'bin/postgres'), ['-D', pathOf(cluster), ...options], {
    cwd: cluster,
    stdio: 'ignore',
    detached: true,
    ...programs.user,
  });
  killOnExit(server, 'SIGINT');
  const ended = once(server, 'exit');
  const close = async () => {
    server.kill('SIGINT');
    await ended;
  };
  try {
    await waitUntilListening(port, START_LIMIT_MS);
    await createDatabase(port);
  } catch (error) {
    await close();
    throw error;
  }
  const env = {
    PGHOST: '127.0.0.1',
    PGPORT: String(port),
    PGUSER: SUPERUSER,
    PGDATABASE: DATABASE,
    DATABASE_URL: `postgres://${SUPERUSER}@127.0.0.1:${port}/${DATABASE}`,
  };
  return { pid: server.pid ?? 0, env, close };
}

/** @param {number} port */
async function createDatabase(port) {
  for (const deadline = Date.now() + START_LIMIT_MS; ;) {
    const client = new pg.Client({
      host: '127.0.0.1',
      port,
      user: SUPERUSER,
      database: 'postgres',
    });
    try {
      await client.connect();
      await client.query(`CREATE DATABASE ${DATABASE}`);
      return;
    } catch (error) {
      // The server listens before it accepts sessions.
      if (Date.now() > deadline) throw error;
    } finally {
      await client.end();
    }
    await delay(POLL_INTERVAL_MS);
  }
}
