// @ts-check
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { Settings } from '#dist/platform/config/settings.js';
import { locateDatabase } from '#dist/platform/database/database-location.js';
import { killOnExit } from './child-processes.mjs';
import { freePort } from './ports.mjs';
import { parentOf } from './process-usage.mjs';

const USER = 'bench';
const START_LIMIT_MS = 60_000;
/** PostgreSQL does not run as root. For root, it runs as `nobody`. */
const IDENTITY = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
/** Enough connections for all servers. All other settings are the defaults, with which a 201 is durable. */
const SETTINGS = {
  max_connections: '200',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
};

/**
 * Starts a PostgreSQL server with the programs of the embedded one.
 *
 * @param {string} folder for its files
 * @returns {Promise<{ pid: number, port: number, connect: (database: string) => Promise<pg.Client>, close: () => Promise<void> }>}
 */
export async function startPostgres(folder) {
  const programs = await findPrograms(join(folder, 'embedded'));
  const data = join(folder, 'postgres');
  mkdirSync(data, { mode: 0o700 });
  if (IDENTITY.uid !== undefined) chownSync(data, IDENTITY.uid, IDENTITY.gid);
  const initdb = ['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--no-locale', '-N'];
  await promisify(execFile)(join(programs, 'initdb'), initdb, { ...IDENTITY, cwd: data });

  const port = await freePort();
  const settings = Object.entries({ ...SETTINGS, port }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const server = spawn(join(programs, 'postgres'), ['-D', data, ...settings], {
    ...{ ...IDENTITY, cwd: data, stdio: 'ignore', detached: true },
  });
  killOnExit(server, 'SIGINT');
  const ended = once(server, 'exit');
  const close = async () => {
    server.kill('SIGINT');
    await ended;
  };
  /** @param {string} database */
  const connect = async (database) => {
    const client = new pg.Client({ host: '127.0.0.1', port, user: USER, database });
    await client.connect();
    return client;
  };
  for (const deadline = Date.now() + START_LIMIT_MS; ; await delay(50)) {
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

/**
 * Starts the embedded server, which may have to prepare its programs first.
 *
 * @param {string} dataDir
 * @returns {Promise<string>} the folder of the programs
 */
async function findPrograms(dataDir) {
  const { database: settings } = new Settings({ DATA_DIR: dataDir });
  const location = await locateDatabase(settings, 'command');
  const client = new pg.Client(location.direct);
  try {
    await client.connect();
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
    return dirname(readlinkSync(`/proc/${parentOf(rows[0].pid)}/exe`));
  } finally {
    await client.end();
    await location.close();
  }
}
