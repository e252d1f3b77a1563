import { randomInt } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { clusterIn, passwordFileIn, SUPERUSER } from './cluster.js';
import { findFailure, pathOf, type Programs, runProgram } from './programs.js';
import { giveToServerUser } from './server-user.js';

const isWindows = process.platform === 'win32';

/** A part of the socket's file name. Nothing listens on the network. */
const SOCKET_PORT = 5432;
const SOCKET_NAME = `.s.PGSQL.${SOCKET_PORT}`;
/** The length of sockaddr_un.sun_path without the final NUL. */
const MAX_SOCKET_PATH_BYTES = 107;

const LOG_NAME = 'server.log';
/** A larger log starts anew. */
const MAX_LOG_BYTES = 5 * 1024 * 1024;
/** Includes the recovery after a crash. */
const START_TIMEOUT_SECONDS = 600;
const STOP_TIMEOUT_SECONDS = 30;
/** A server that has locked its cluster listens within this time. */
const LISTEN_TIMEOUT_MS = 10_000;
/** A number that no process has. */
const NO_PROCESS = '999999999';

/** On the command line, so that no configuration file can change them. */
const SETTINGS = {
  // A 201 is durable.
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  max_connections: 50,
  shared_buffers: '64MB',
  // Each saves a process that is not needed here.
  io_method: 'sync',
  max_logical_replication_workers: 0,
  log_destination: 'stderr',
  logging_collector: 'off',
  // Logs starts, stops and crashes, but no failed statements.
  log_min_messages: 'log',
  log_checkpoints: 'off',
};

const UNIX_SETTINGS = {
  listen_addresses: '',
  // The folder of the cluster, whatever its path is.
  unix_socket_directories: '.',
  unix_socket_permissions: '0600',
  // A container may have a small /dev/shm.
  dynamic_shared_memory_type: 'mmap',
};

/** The PostgreSQL server of a cluster. It outlives the process that starts it. */
export class Server {
  private readonly cluster: string;
  readonly log: string;
  private readonly lock: string;
  private readonly socketFolder: string;
  /** A service keeps the port when it starts a server that has crashed. */
  private readonly port = isWindows ? randomInt(20_000, 49_152) : SOCKET_PORT;

  constructor(
    private readonly dataDir: string,
    private readonly programs: Programs,
  ) {
    const cluster = clusterIn(dataDir);
    this.cluster = cluster;
    this.log = join(cluster, LOG_NAME);
    this.lock = join(cluster, 'postmaster.pid');
    const bytes = Buffer.byteLength(join(cluster, SOCKET_NAME));
    // Linux reaches a socket with a longer path through the open folder.
    const isLong = process.platform === 'linux' && bytes > MAX_SOCKET_PATH_BYTES;
    this.socketFolder = isLong ? `/proc/self/fd/${fs.openSync(cluster, 'r')}` : cluster;
  }

  /** Where the server listens, if it runs. */
  get connection() {
    const password = passwordFileIn(this.dataDir);
    return {
      ...(isWindows
        ? { host: '127.0.0.1', port: Number(fs.readFileSync(this.lock, 'utf8').split('\n')[3]) }
        : { host: this.socketFolder, port: SOCKET_PORT }),
      user: SUPERUSER,
      password: fs.existsSync(password) ? fs.readFileSync(password, 'utf8').trim() : '',
      // Otherwise the environment variable PGSSLMODE could turn TLS on.
      ssl: false,
    };
  }

  /** Starts the server if nobody listens. Resolves with null, or with the failure. */
  async start(): Promise<string | null> {
    giveToServerUser(this.cluster, this.programs.user);
    this.releaseOldLock();
    const logged = fs.statSync(this.log, { throwIfNoEntry: false })?.size ?? 0;
    if (logged > MAX_LOG_BYTES) fs.rmSync(this.log);
    const settings = Object.entries({
      ...SETTINGS,
      ...(isWindows ? { listen_addresses: '127.0.0.1' } : UNIX_SETTINGS),
      port: this.port,
    });
    const options = settings.map(([name, value]) => `-c ${name}=${value}`).join(' ');
    const failure = await this.control(
      'start',
      START_TIMEOUT_SECONDS,
      '-l',
      LOG_NAME,
      '-o',
      options,
    );
    if (failure === null || !fs.existsSync(this.log)) return failure;
    return findFailure(fs.readFileSync(this.log).toString('utf8', logged)) || failure;
  }

  /** Stops the server: a fast shutdown, or else an immediate one. Both keep committed data. */
  async stop(): Promise<void> {
    for (const mode of ['fast', 'immediate'])
      if ((await this.control('stop', STOP_TIMEOUT_SECONDS, '-m', mode)) === null) return;
  }

  private control(action: string, limitSeconds: number, ...args: string[]): Promise<string | null> {
    const limit = ['-s', '-w', '-t', String(limitSeconds)];
    const all = [action, ...args, ...limit, '-D', pathOf(this.cluster)];
    return runProgram(this.programs, 'pg_ctl', all, this.cluster);
  }

  /**
   * The process number of a dead server may belong to another program now. PostgreSQL still checks
   * whether processes of the dead server use the memory that postmaster.pid names.
   */
  private releaseOldLock(): void {
    const stats = fs.lstatSync(this.lock, { throwIfNoEntry: false });
    if (!stats?.isFile() || Date.now() - stats.mtimeMs < LISTEN_TIMEOUT_MS) return;
    const text = fs.readFileSync(this.lock, 'utf8').replace(/^\d*/, NO_PROCESS);
    fs.writeFileSync(this.lock, text, { flag: 'r+' });
    fs.rmSync(join(this.cluster, `${SOCKET_NAME}.lock`), { force: true });
  }
}
