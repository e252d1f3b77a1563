import { randomInt } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { clusterIn, passwordFileIn, SUPERUSER } from './cluster.js';
import { findFailure, WORKING_FOLDER, type Programs, runProgram } from './programs.js';

const isWindows = process.platform === 'win32';

/** A part of the socket's file name. Nothing listens on the network. */
const SOCKET_PORT = 5432;
/** The length of sockaddr_un.sun_path without the final NUL. */
const MAX_SOCKET_PATH_BYTES = 107;

const LOG_NAME = 'server.log';
const STOP_LIMIT_MS = 60_000;
const POLL_MS = 20;

/** On the command line, so that no configuration file can change them. */
const SETTINGS = {
  // A 201 is durable.
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // Logs starts, stops and crashes, but no failed statements.
  log_min_messages: 'log',
  log_checkpoints: 'off',
  ...(isWindows
    ? { listen_addresses: '127.0.0.1', port: randomInt(20_000, 49_152) }
    : {
        listen_addresses: '',
        port: SOCKET_PORT,
        // The folder of the cluster, whatever its path is.
        unix_socket_directories: '.',
        unix_socket_permissions: '0600',
        // A container may have a small /dev/shm.
        dynamic_shared_memory_type: 'mmap',
      }),
};

/** The PostgreSQL server of a cluster. It outlives the process that starts it. */
export class Server {
  private readonly cluster = clusterIn(this.dataDir);
  private readonly log = join(this.cluster, LOG_NAME);
  private readonly lock = join(this.cluster, 'postmaster.pid');
  private readonly socketFolder = openable(this.cluster);

  constructor(
    private readonly dataDir: string,
    private readonly programs: Programs,
  ) {}

  /** Where the server listens, if it runs. */
  get connection() {
    const password = passwordFileIn(this.dataDir);
    const lines = isWindows ? fs.readFileSync(this.lock, 'utf8').split('\n') : [];
    return {
      host: isWindows ? '127.0.0.1' : this.socketFolder,
      port: isWindows ? Number(lines[3]) : SOCKET_PORT,
      user: SUPERUSER,
      password: fs.existsSync(password) ? fs.readFileSync(password, 'utf8').trim() : '',
      // Otherwise the environment variable PGSSLMODE could turn TLS on.
      ssl: false,
    };
  }

  /** Starts the server. @throws Error with the reason in its log if it does not start */
  async start(): Promise<void> {
    const logged = fs.statSync(this.log, { throwIfNoEntry: false })?.size ?? 0;
    const options = Object.entries(SETTINGS).map(([name, value]) => `-c ${name}=${value}`);
    try {
      // Waits a minute at most. A server that takes longer is found by the next start.
      await this.control('start', '-w', '-l', LOG_NAME, '-o', options.join(' '));
    } catch (error) {
      const log = fs.existsSync(this.log) ? fs.readFileSync(this.log).toString('utf8', logged) : '';
      const failure = findFailure(log) || (error as Error).message;
      throw new Error(`PostgreSQL did not start (${failure}; log: ${this.log})`, { cause: error });
    }
  }

  /** Ends all connections and stops the server. One that takes longer still stops by itself. */
  async stop(): Promise<void> {
    const running = this.lockedBy();
    try {
      // With -w, pg_ctl would also wait for a server that another process starts in the meantime.
      await this.control('stop', '-m', 'fast', '-W');
    } catch {
      return;
    }
    const limitMs = performance.now() + STOP_LIMIT_MS;
    while (this.lockedBy() === running && performance.now() < limitMs) await sleep(POLL_MS);
  }

  /** Returns the process number, folder and start time of the server that has locked the cluster. */
  private lockedBy(): string {
    try {
      return fs.readFileSync(this.lock, 'utf8').split('\n', 3).join();
    } catch {
      return '';
    }
  }

  private control(...args: string[]): Promise<void> {
    const all = [...args, '-s', '-D', WORKING_FOLDER];
    return runProgram(this.programs, 'pg_ctl', all, this.cluster);
  }
}

/** Linux reaches a socket with a path that is too long through the open folder. */
function openable(folder: string): string {
  const length = Buffer.byteLength(`${folder}/.s.PGSQL.${SOCKET_PORT}`);
  if (length <= MAX_SOCKET_PATH_BYTES || process.platform !== 'linux') return folder;
  return `/proc/self/fd/${fs.openSync(folder, 'r')}`;
}
