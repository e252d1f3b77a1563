// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { killOnExit } from './child-processes.mjs';
import { freePort } from './ports.mjs';

/** @type {typeof import('../../src/platform/database/embedded/cluster.js')} */
const { clusterIn, ensureCluster } = await import(
  new URL('../../dist/platform/database/embedded/cluster.js', import.meta.url).href
);
/** @type {typeof import('../../src/platform/database/embedded/programs.js')} */
const { WORKING_FOLDER } = await import(
  new URL('../../dist/platform/database/embedded/programs.js', import.meta.url).href
);

const SUPERUSER = 'bench';
const START_LIMIT_MS = 60_000;
const POLL_MS = 20;
/** Enough connections for all servers. All other settings are the defaults, with which a 201 is durable. */
const SETTINGS = {
  max_connections: '200',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
};

/**
 * Starts a PostgreSQL server from the embedded binaries.
 *
 * @param {string} folder for its files, is created
 * @returns {Promise<{ pid: number, port: number, connect: (database: string) => Promise<pg.Client>, close: () => Promise<void> }>}
 */
export async function startPostgres(folder) {
  await mkdir(folder);
  const programs = await ensureCluster({
    dataDir: folder,
    name: SUPERUSER,
    programsFolder: '/var/cache/bench',
  });
  const cluster = clusterIn(folder);
  const port = await freePort();
  const settings = Object.entries({ ...SETTINGS, port: String(port) });
  const options = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = spawn(join(programs.folder, 'bin/postgres'), ['-D', WORKING_FOLDER, ...options], {
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
  /** @param {string} database */
  const connect = async (database) => {
    const client = new pg.Client({ host: '127.0.0.1', port, user: SUPERUSER, database });
    await client.connect();
    return client;
  };
  for (const deadline = Date.now() + START_LIMIT_MS; ; await delay(POLL_MS)) {
    try {
      await (await connect('postgres')).end();
      return { pid: server.pid ?? 0, port, connect, close };
    } catch (error) {
      if (Date.now() < deadline && server.exitCode === null) continue;
      await close();
      throw error;
    }
  }
}
