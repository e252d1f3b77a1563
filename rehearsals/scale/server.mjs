// @ts-check
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import {
  chooseServerUser,
  giveToServerUser,
} from '#dist/platform/database/embedded/server-user.js';
import { killOnExit } from '../../bench/processes/child-processes.mjs';
import { freePort } from '../../bench/processes/ports.mjs';

const DEBIAN_FOLDER = '/usr/lib/postgresql';
/** Enough connections for ten replicas. All other settings are the defaults. */
const SETTINGS = { max_connections: '200', unix_socket_directories: '' };

/** @typedef {Awaited<ReturnType<typeof startServer>>} Server */

/** @returns {string | undefined} the folder of Debian's programs, with pg_dump and pg_restore */
export function findPrograms() {
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER).sort().reverse() : [];
  const folders = versions.map((version) => join(DEBIAN_FOLDER, version, 'bin'));
  return folders.find((folder) => existsSync(join(folder, 'initdb')));
}

/**
 * Starts a PostgreSQL server.
 *
 * @param {string} programs the folder of its programs
 * @param {string} folder for its files, is created
 */
export async function startServer(programs, folder) {
  mkdirSync(folder);
  const user = chooseServerUser(folder);
  giveToServerUser(folder, user);
  const port = await freePort();
  const env = { PGHOST: '127.0.0.1', PGPORT: String(port), PGUSER: 'postgres' };
  /** Runs a program of PostgreSQL. @param {string} program @param {string[]} args */
  const run = async (program, ...args) => {
    const options = { ...user, cwd: folder, env: { PATH: process.env.PATH, ...env } };
    return (await promisify(execFile)(join(programs, program), args, options)).stdout;
  };
  const data = join(folder, 'data');
  await run('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale');
  const settings = Object.entries({ ...SETTINGS, port: String(port) });
  const args = ['-D', data, ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])];
  const options = /** @type {const} */ ({ cwd: folder, stdio: 'ignore', detached: true });
  const server = spawn(join(programs, 'postgres'), args, { ...options, ...user });
  killOnExit(server, 'SIGINT');
  const ended = once(server, 'exit');
  const isReady = () => run('pg_isready').then(Boolean, () => false);
  while (!(await isReady())) {
    if (server.exitCode !== null) throw new Error('PostgreSQL did not start.');
  }
  return {
    pid: server.pid ?? 0,
    folder,
    run,
    /** @param {string} database */
    envOf: (database) => ({
      ...{ ...env, PGDATABASE: database },
      DATABASE_URL: `postgres://${env.PGUSER}@${env.PGHOST}:${env.PGPORT}/${database}`,
    }),
    /** @param {string} database @param {string} sql @param {unknown[]} [values] */
    async query(database, sql, values) {
      const client = new pg.Client({ host: env.PGHOST, port, user: env.PGUSER, database });
      await client.connect();
      return (await client.query(sql, values).finally(() => client.end())).rows;
    },
    async close() {
      server.kill('SIGINT');
      await ended;
    },
  };
}
