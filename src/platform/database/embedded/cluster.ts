import { execFileSync } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import * as fs from 'node:fs';
import { userInfo } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseSettings } from '../../config/database-settings.js';
import {
  createFolder,
  findFailure,
  findPrograms,
  WORKING_FOLDER,
  type Programs,
  runProgram,
  type ServerUser,
} from './programs.js';

const isWindows = process.platform === 'win32';

/** The user `nobody` on Linux. Other processes of this user can use the cluster too. */
const NOBODY: ServerUser = { uid: 65_534, gid: 65_534 };

/** A part of the socket's file name. Nothing listens on the network. */
const SOCKET_PORT = 5432;
/** The length of sockaddr_un.sun_path without the final NUL. */
const MAX_SOCKET_PATH_BYTES = process.platform === 'linux' ? 107 : 103;

const LOG_NAME = 'server.log';
const STOP_LIMIT_MS = 60_000;
/** PostgreSQL needs much less to write its number to the lock that it has created. */
const WRITE_LIMIT_MS = 5_000;
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

export type EmbeddedSettings = Pick<DatabaseSettings, 'dataDir' | 'name' | 'programsFolder'>;

export const clusterIn = (dataDir: string): string => join(dataDir, 'postgres');

/** Returns the path of the superuser's password: on Windows, and of earlier releases' clusters. */
const passwordFileIn = (dataDir: string): string => join(dataDir, 'postgres.password');

/** Whether the folder holds a PostgreSQL cluster. Also true if this process has no permission to look. */
export function hasCluster(dataDir: string): boolean {
  try {
    return fs.statSync(clusterIn(dataDir), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

/**
 * Creates the cluster if there is none. Returns its programs. The folder exists, without symbolic links.
 */
export async function ensureCluster(
  { dataDir, name, programsFolder }: EmbeddedSettings,
  signal?: AbortSignal,
): Promise<Programs> {
  if (isTooLong(clusterIn(dataDir)) && process.platform !== 'linux') {
    const limit = `at most ${MAX_SOCKET_PATH_BYTES} bytes`;
    throw new Error(`the path of PostgreSQL's socket is too long (${limit})`);
  }
  const programs = await findPrograms(serverUser(dataDir), programsFolder);
  await createFolder(clusterIn(dataDir), async (created) => {
    if (programs.user) fs.chownSync(created, programs.user.uid, programs.user.gid);
    await runProgram(programs, 'initdb', initdbArguments(dataDir, name), created, signal);
    // The shell runs an empty program successfully.
    if (!fs.existsSync(join(created, 'PG_VERSION'))) throw new Error('initdb created no cluster');
  });
  return programs;
}

/**
 * Returns the user that runs the server for root, because PostgreSQL does not run as root: the owner
 * of the cluster. null: the user of this process.
 */
function serverUser(dataDir: string): ServerUser | null {
  if (process.getuid?.() !== 0 || process.platform !== 'linux') return null;
  const { uid, gid } = fs.statSync(clusterIn(dataDir), { throwIfNoEntry: false }) ?? NOBODY;
  return { uid, gid };
}

function initdbArguments(dataDir: string, user: string): string[] {
  return [
    `--pgdata=${WORKING_FOLDER}`,
    `--username=${user}`,
    '--no-instructions',
    '--encoding=UTF8',
    '--locale=C',
    // Upper and lower case of all scripts, and sorting by code point: the same on all systems, and
    // after upgrades of their libraries.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    ...(isWindows
      ? ['--auth=scram-sha-256', `--pwfile=${createPassword(dataDir)}`]
      : ['--auth=trust']),
  ];
}

/** Windows: returns the path of a file with the password, which only its owner can read. */
function createPassword(dataDir: string): string {
  const password = passwordFileIn(dataDir);
  if (fs.existsSync(password)) return password;
  fs.writeFileSync(password, randomBytes(24).toString('base64url'), { flag: 'wx' });
  const rights = ['/inheritance:r', '/grant:r', `${userInfo().username}:F`];
  execFileSync('icacls', [password, ...rights], { stdio: 'ignore' });
  return password;
}

/** The PostgreSQL server of a cluster. It outlives the process that starts it. */
export class Server {
  private readonly cluster = clusterIn(this.dataDir);
  private readonly log = join(this.cluster, LOG_NAME);
  private readonly lock = join(this.cluster, 'postmaster.pid');
  /** The folder of the cluster, by a path that is short enough for a socket. */
  readonly socketFolder = openable(this.cluster);

  constructor(
    private readonly dataDir: string,
    private readonly programs: Programs,
    private readonly name: string,
  ) {}

  /** Where the server listens, if it runs. */
  get connection() {
    const password = passwordFileIn(this.dataDir);
    const lines = isWindows ? fs.readFileSync(this.lock, 'utf8').split('\n') : [];
    return {
      host: isWindows ? '127.0.0.1' : this.socketFolder,
      port: isWindows ? Number(lines[3]) : SOCKET_PORT,
      database: this.name,
      user: this.name,
      password: fs.existsSync(password) ? fs.readFileSync(password, 'utf8').trim() : '',
      // Otherwise the environment variable PGSSLMODE could turn TLS on.
      ssl: false,
    };
  }

  /** Starts the server. @throws Error with the reason in its log if it does not start */
  async start(): Promise<void> {
    this.removeStaleLocks();
    const before = this.lockedBy();
    const logged = fs.statSync(this.log, { throwIfNoEntry: false })?.size ?? 0;
    const options = Object.entries(SETTINGS).map(([name, value]) => `-c ${name}=${value}`);
    try {
      // Waits a minute at most.
      await this.control('start', '-w', '-l', LOG_NAME, '-o', options.join(' '));
    } catch (error) {
      // It may still be starting, without an owner.
      if (this.lockedBy() !== before) await this.stop();
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
      // pg_ctl, which sends this signal, may not run: the system can allow no further process.
      const pid = Number.parseInt(running, 10);
      if (isWindows || !this.isOurs(pid, programOf(pid))) return;
      process.kill(pid, 'SIGINT');
    }
    const limitMs = performance.now() + STOP_LIMIT_MS;
    while (this.lockedBy() === running && performance.now() < limitMs) await sleep(POLL_MS);
  }

  /**
   * Removes locks whose process number belongs to another process, as it may after a power cut or in another
   * container, and empty ones, which a full disk leaves. PostgreSQL would not start. No other process starts the
   * server meanwhile, but one that was killed a moment ago may have started it.
   */
  private removeStaleLocks(): void {
    if (isWindows) return;
    for (const lock of [this.lock, join(this.cluster, `.s.PGSQL.${SOCKET_PORT}.lock`)]) {
      const stats = fs.statSync(lock, { throwIfNoEntry: false });
      if (stats === undefined) continue;
      const pid = Number.parseInt(fs.readFileSync(lock, 'utf8'), 10);
      const program = pid > 0 ? programOf(pid) : '';
      const isOld = Date.now() - stats.mtimeMs > WRITE_LIMIT_MS;
      // PostgreSQL replaces the lock of a process that has ended. Ours is starting or stopping.
      const isStale = stats.size === 0 ? isOld : program !== '' && !this.isOurs(pid, program);
      if (isStale) fs.rmSync(lock);
    }
  }

  /** Whether a program is the server of this folder, as far as the system shows its folder. */
  private isOurs(pid: number, program: string): boolean {
    if (program !== 'postgres') return false;
    try {
      return fs.readlinkSync(`/proc/${pid}/cwd`) === fs.realpathSync(this.cluster);
    } catch {
      return true;
    }
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

function isTooLong(cluster: string): boolean {
  const length = Buffer.byteLength(`${cluster}/.s.PGSQL.${SOCKET_PORT}`);
  return length > MAX_SOCKET_PATH_BYTES && !isWindows;
}

/** Linux reaches a socket with a path that is too long through the open folder. */
function openable(folder: string): string {
  return isTooLong(folder) ? `/proc/self/fd/${fs.openSync(folder, 'r')}` : folder;
}

/** Returns the name of the program of a process, '' if there is no such process, or it cannot be found out. */
function programOf(pid: number): string {
  try {
    if (process.platform === 'linux') return fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
    const options = { encoding: 'utf8', timeout: 5_000, stdio: 'pipe' } as const;
    return basename(execFileSync('ps', ['-p', String(pid), '-o', 'comm='], options).trim());
  } catch {
    return '';
  }
}
