import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client, type QueryResultRow } from 'pg';
import { Cli } from '../processes/command.js';
import { empty, type TestDatabase } from './database.js';
import { freePort } from '../processes/free-port.js';
import { HANG_LIMIT_MS } from '../run/until.js';

/** PostgreSQL does not run as root. For root, it runs as `nobody`. */
export const USER = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

type ServerSettings = Record<string, string>;

/**
 * Returns a folder with the result of initdb, which takes longer than a copy of it. It is made once, and removed after a day without use
 * (services.mjs).
 */
async function initialized(programs: string): Promise<string> {
  const prefix = join(tmpdir(), `pets-tests-${process.getuid?.() ?? ''}-initdb-`);
  const kept = `${prefix}${createHash('sha256').update(programs).digest('hex').slice(0, 16)}`;
  const data = join(kept, 'data');
  if (!existsSync(kept)) {
    const folder = mkdtempSync(`${prefix}new-`);
    if (USER.uid !== undefined) chownSync(folder, USER.uid, USER.gid);
    const options = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '-N'];
    const args = ['-D', join(folder, 'data'), ...options];
    await promisify(execFile)(join(programs, 'initdb'), args, { ...USER, cwd: folder });
    try {
      renameSync(folder, kept);
    } catch {
      // Another worker was faster.
      rmSync(folder, { recursive: true });
    }
  }
  utimesSync(kept, new Date(), new Date());
  return data;
}

/** A PostgreSQL server of a test's own, with the service's schema, to be stopped and killed. */
export class PostgresServer {
  private process: ChildProcess | undefined;
  private log = '';

  private constructor(
    private readonly programs: string,
    private readonly folder: string,
    private readonly port: number,
    private readonly settings: ServerSettings,
  ) {}

  /**
   * Makes a server with an empty store and starts it.
   *
   * @param programs the folder of PostgreSQL's programs
   * @param isEmpty leaves it without the tables of the store
   */
  static async create(
    programs: string,
    settings: ServerSettings = {},
    { isEmpty = false } = {},
  ): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), 'pets-postgres-'));
    if (USER.uid !== undefined) chownSync(folder, USER.uid, USER.gid);
    const server = new PostgresServer(programs, folder, await freePort(), settings);
    try {
      await promisify(execFile)('cp', ['-a', await initialized(programs), server.data]);
      await server.start();
      if (isEmpty) return server;
      const { code, stderr } = await new Cli({ DATABASE_URL: server.url }).run('db', 'migrate');
      if (code !== 0) throw new Error(stderr);
      return server;
    } catch (error) {
      await server.remove();
      throw error;
    }
  }

  /** Starts a standby that follows this server. */
  async createStandby(): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), 'pets-postgres-'));
    if (USER.uid !== undefined) chownSync(folder, USER.uid, USER.gid);
    const standby = new PostgresServer(this.programs, folder, await freePort(), this.settings);
    await standby.run('pg_basebackup', '-R', '-c', 'fast', '-D', standby.data, '-d', this.url);
    await standby.start();
    return standby;
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  /** The database, for what takes one of the test run's server. */
  get database(): TestDatabase {
    return {
      name: 'postgres',
      url: this.url,
      query: (sql, values) => this.query(sql, values),
      empty: (...tables) => empty((sql, values) => this.query(sql, values), tables),
      close: () => Promise.resolve(),
    };
  }

  /** Runs a statement on a connection of its own: the last one may have been lost. */
  async query<Row extends QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]> {
    const client = new Client({ connectionString: this.url, connectionTimeoutMillis: 5_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query<Row>(sql, values)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** Starts the server and waits until it accepts connections. */
  async start(): Promise<void> {
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      port: String(this.port),
      max_connections: '100',
      shared_buffers: '16MB',
      // Nothing has to survive a power cut.
      fsync: 'off',
      ...this.settings,
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const identity =
      USER.uid === undefined
        ? []
        : [`--reuid=${USER.uid}`, `--regid=${USER.gid}`, '--clear-groups'];
    const server = join(this.programs, 'postgres');
    // Should this process die without cleaning up, the server stops.
    const args = [...identity, '--pdeathsig=INT', '--', server, '-D', this.data, ...options];
    this.process = spawn('setpriv', args, {
      cwd: this.folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.process.stderr?.on('data', (text: Buffer) => (this.log += text.toString()));
    await this.untilItResponds();
  }

  /** Stops it from doing anything, as a machine does that hangs; connections stay open. */
  freeze(): void {
    this.signalAll('SIGSTOP');
  }

  thaw(): void {
    this.signalAll('SIGCONT');
  }

  /** kill -9 of the server; returns when all its processes are gone. */
  async kill(): Promise<void> {
    const pids = this.pids();
    await this.end('SIGKILL');
    // They notice that the first one has stopped.
    while (pids.some(isAlive)) await sleep(10);
  }

  /** Stops the server, and starts it as a standby that has all of its data and no primary. */
  async restartAsStandby(): Promise<void> {
    await this.end('SIGINT');
    writeFileSync(join(this.data, 'standby.signal'), '');
    await this.start();
  }

  /** Ends it, whatever state it is in, and removes its folder. */
  async remove(): Promise<void> {
    const pids = this.pids();
    for (const pid of pids) signal(pid, 'SIGKILL');
    await this.end('SIGKILL');
    while (pids.some(isAlive)) await sleep(10);
    rmSync(this.folder, { recursive: true, force: true });
  }

  private get data(): string {
    return join(this.folder, 'data');
  }

  private async end(name: NodeJS.Signals): Promise<void> {
    const server = this.process;
    if (server?.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    server.kill(name);
    await exited;
  }

  private async untilItResponds(): Promise<void> {
    const deadline = Date.now() + HANG_LIMIT_MS;
    for (;;) {
      try {
        await this.query('SELECT 1');
        return;
      } catch (error) {
        if (Date.now() > deadline || this.process?.exitCode !== null) {
          throw new Error(`the server did not start:\n${this.log}`, { cause: error });
        }
        await sleep(20);
      }
    }
  }

  private async run(program: string, ...args: string[]): Promise<void> {
    await promisify(execFile)(join(this.programs, program), args, { ...USER, cwd: this.folder });
  }

  /** All its processes, the first one first: it starts no others then. */
  private signalAll(name: NodeJS.Signals): void {
    for (const pid of this.pids()) signal(pid, name);
    for (const pid of this.pids()) signal(pid, name);
  }

  private pids(): number[] {
    const pid = this.process?.pid;
    if (pid === undefined || !isAlive(pid)) return [];
    return [
      pid,
      ...readdirSync('/proc')
        .map(Number)
        .filter((other) => parentOf(other) === pid),
    ];
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has already stopped.
  }
}

function parentOf(pid: number): number | undefined {
  return Number(statusOf(pid)?.[1]);
}

/** One that has ended and waits to be collected is not alive. */
function isAlive(pid: number): boolean {
  return (statusOf(pid)?.[0] ?? 'Z') !== 'Z';
}

/** State and parent; undefined when there is no such process. */
function statusOf(pid: number): string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ');
  } catch {
    return undefined;
  }
}
