import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { ProcessKind } from '../../config/database-settings.js';
import { type EmbeddedSettings, ensureCluster, Server } from './cluster.js';
import { StartError } from '../../errors/start-error.js';
import { lockServer } from './server-lock.js';

/** The advisory lock of the server's owner. Earlier releases use the same numbers. */
const LOCK = [0x70657473, 2];

const POLL_MS = 50;
/** How long another process may take to start or stop the server. */
const START_LIMIT_MS = 60_000;
/** The server closes the connection of a killed service within this time. */
const PREDECESSOR_LIMIT_MS = 1000;
const TIMEOUT_MS = 10_000;
const LOCK_LIMIT_MS = 2_000;

/** Nobody listens. */
const NO_SERVER = ['ENOENT', 'ECONNREFUSED'];
/** The server is starting, stopping or full, or the connection broke. */
const TEMPORARY = [...NO_SERVER, '57P01', '57P02', '57P03', '53300', 'ECONNRESET', 'EPIPE'];
/** Also: another process starts the server, or processes of a killed server are still ending. */
const TEMPORARY_MESSAGE =
  /^Connection terminated|is not queryable|already released|postmaster\.pid|lock file|shared memory/;
const LOCKED = 'another process is starting or stopping PostgreSQL';

/**
 * Uses the server of the folder. Creates the folder and the cluster, and starts the server, if necessary.
 *
 * @param signal ends the start
 * @throws StartError with one line that ends with what to do, or the reason of `signal`
 */
export async function openEmbeddedDatabase(
  settings: EmbeddedSettings,
  processKind: ProcessKind,
  signal?: AbortSignal,
): Promise<EmbeddedDatabase> {
  const { dataDir } = settings;
  let database: EmbeddedDatabase | undefined;
  try {
    createFolder(dataDir);
    const path = realpathSync(dataDir);
    const programs = await ensureCluster({ ...settings, dataDir: path }, signal);
    database = new EmbeddedDatabase(path, new Server(path, programs, settings.name), processKind);
    await database.attach(signal);
    signal?.throwIfAborted();
    return database;
  } catch (error) {
    await database?.close();
    signal?.throwIfAborted();
    const { message } = error as Error;
    const remedy = remedyOf(error as NodeJS.ErrnoException);
    const problem = `the embedded database in ${dataDir} cannot be used: ${message}: ${remedy}`;
    const text = error instanceof StartError ? message : problem.replace(/\s+/g, ' ');
    throw new StartError(`${text}, or set DATABASE_URL=postgres://…`, { cause: error });
  }
}

const INSTALL =
  'install the packages on the system that runs them: on Linux, one with glibc and /bin/sh';
const AS_OWNER = 'run this as the user who owns the folder';

/** What to do about a failure whose message does not say it. */
const REMEDIES: readonly [failure: RegExp, remedy: string][] = [
  [
    /files are incompatible with server|initialized by PostgreSQL version/,
    'another release of this service made it, and your data is unchanged: run that release, and copy the data to a server with `db copy-embedded` of that release',
  ],
  [
    /cannot be run as root/,
    "run `chown -R` on its folder postgres, to the user who owned it: `cp -a` keeps a file's owner",
  ],
  [/has invalid permissions/, 'run `chmod 700` on its folder postgres'],
  [
    /(?:spawn|chown).* EPERM|EPERM.*chown/,
    'run this as another user than root, because root may not change to another one here',
  ],
  // PostgreSQL also calls a lack of processes a lack of memory.
  [
    /could not (?:fork|execute command|start server)|EAGAIN/,
    'raise the limits of processes and memory',
  ],
  [
    /look up (?:effective|local) user id|user does not exist/i,
    'add an entry for the user of this process to /etc/passwd',
  ],
  // Its message is that of a full disk.
  [
    /shared memory segment/,
    'raise the limits of shared memory (sysctl kernel.shmmni, kernel.shmall)',
  ],
  // A program is missing, damaged or for another system, or lacks a library.
  [
    /spawn .* E(?:NOENT|ACCES)|Error relocating|GLIBC_|needed by initdb|created no cluster/,
    INSTALL,
  ],
  [/Syntax error|Exec format error|shared librar|symbol not found|error: file /, INSTALL],
  [/has wrong ownership|EACCES|EPERM|Permission denied/, AS_OWNER],
  [/could not create .*socket|too long/, 'choose a DATA_DIR with a shorter path'],
  [RegExp(LOCKED), 'wait until it has ended'],
  [/listen E|ENOTDIR|EEXIST|ENOENT|EINVAL|ELOOP|EROFS/, 'choose another DATA_DIR'],
];

/** Returns what to do about a failure. The data is kept in any case. */
function remedyOf({ code = '', message }: NodeJS.ErrnoException): string {
  const found = REMEDIES.find(([failure]) => failure.test(`${code} ${message}`));
  return found?.[1] ?? 'correct this, and keep the folder';
}

/** With `recursive`, Node.js tries forever in a folder that accepts no folders, such as /proc. */
function createFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: !existsSync(dirname(path)), mode: 0o700 });
  } catch (error) {
    if (!existsSync(path)) throw error;
  }
}

/**
 * The server of a folder as one process uses it.
 *
 * - The process that holds an advisory lock owns the server and stops it.
 * - If the owner is killed, the kernel closes its connection, which frees the lock. The server
 *   stays. The next process that opens the database uses it and becomes its owner.
 * - A command uses a server that another process owns. At its end it stops the server if the owner was killed. A service waits until the owner, a command,
 *   has stopped it. A second service is rejected.
 * - If the server ends, the service that owns it ends with an uncaught error.
 * - One process at a time starts the server, becomes its owner or stops it (`lockServer`), in whichever
 *   container it runs.
 */
class EmbeddedDatabase {
  /** Holds the lock. null: another process owns the server. */
  private session: Client | null = null;
  private usesServerOfOther = false;

  constructor(
    private readonly dataDir: string,
    private readonly server: Server,
    private readonly processKind: ProcessKind,
  ) {}

  get connection() {
    return this.server.connection;
  }

  /** Stops the server if this process owns it, or if its owner was killed. */
  async close(): Promise<void> {
    let { session } = this;
    this.session = null;
    if (session === null && !this.usesServerOfOther) return;
    // A full disk prevents the lock, but must not keep the server running.
    const unlock = await this.lock().catch(() => null);
    try {
      if (session === null && unlock) {
        // Fails if the owner has stopped the server.
        await this.own().catch(() => undefined);
        session = this.session;
      }
      if (session === null) return;
      // With the advisory lock: nobody becomes the owner of a server that stops.
      await this.server.stop();
      await session.end();
    } finally {
      unlock?.();
    }
  }

  /** Connects to the server, starts it if necessary, and becomes its owner if it has none. */
  async attach(signal?: AbortSignal): Promise<void> {
    let startedAtMs = performance.now();
    let isWaiting = false;
    const elapsedMs = () => performance.now() - startedAtMs;
    // At random intervals, so that two processes do not prevent each other from locking the server for ever.
    for (; ; await sleep(POLL_MS * (0.5 + Math.random()), undefined, { signal })) {
      let owner: string | null;
      try {
        owner = await this.ownAlone();
      } catch (error) {
        if (!isTemporary(error) || elapsedMs() > START_LIMIT_MS) throw error;
        continue;
      }
      if (owner === null) {
        this.usesServerOfOther = this.session === null;
        return;
      }
      if (owner.startsWith('command')) {
        if (!isWaiting) console.error('Waiting for a command that uses the embedded database.');
        isWaiting = true;
        startedAtMs = performance.now();
      } else if (elapsedMs() > PREDECESSOR_LIMIT_MS) {
        throw new StartError(
          `another ${owner.replace(/\d.*/, '(process $&)')} already runs on ${this.dataDir}: stop it, give this one a DATA_DIR of its own`,
        );
      }
    }
  }

  /**
   * As `own`, after starting the server if none runs. The process that starts a server becomes its owner: a server
   * ends with its container.
   */
  private async ownAlone(): Promise<string | null> {
    const unlock = await lockServer(this.server.socketFolder);
    if (unlock === null) throw Object.assign(new Error(LOCKED), { code: 'ECONNREFUSED' });
    try {
      return await this.own().catch(async (error: unknown) => {
        if (!hasCode(error, NO_SERVER)) throw error;
        await this.server.start();
        return this.ownStarted();
      });
    } finally {
      unlock();
    }
  }

  /**
   * As `own`, of the server that this process has started. pg_ctl returns too early if the process that was killed a
   * moment ago had the same number, as in a container that is started again. Stops the server if it cannot be used.
   */
  private async ownStarted(): Promise<string | null> {
    for (const startedAtMs = performance.now(); ; await sleep(POLL_MS)) {
      try {
        return await this.own();
      } catch (error) {
        if (isTemporary(error) && performance.now() - startedAtMs < TIMEOUT_MS) continue;
        await this.server.stop();
        throw error;
      }
    }
  }

  /** Waits for the lock. Returns null if another process, which seems to hang, does not unlock it. */
  private async lock(): Promise<(() => void) | null> {
    for (const startedAtMs = performance.now(); ; await sleep(POLL_MS)) {
      const unlock = await lockServer(this.server.socketFolder);
      if (unlock || performance.now() - startedAtMs > LOCK_LIMIT_MS) return unlock;
    }
  }

  /**
   * Tries to become the owner of the server that runs. A command also uses one of another owner.
   * Returns the name of the owner if this process must wait.
   */
  private async own(): Promise<string | null> {
    const { processKind, connection } = this;
    const session = new Client({
      ...connection,
      // A session in the service's database would prevent dropping it.
      database: 'postgres',
      application_name: `${processKind} ${process.pid} on ${hostname()}`,
      options: '-c default_transaction_read_only=off',
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
    });
    session.on('error', () => undefined);
    session.once('end', () => {
      // A command reports the failure of its own statement.
      if (this.session !== session || processKind === 'command') return;
      throw new StartError('the embedded PostgreSQL has ended: start the service again');
    });
    await session.connect();
    try {
      const { rows } = await session.query<{ isOwner: boolean; owner: string | null }>(
        `select pg_try_advisory_lock($1, $2) as "isOwner", (
           select application_name from pg_locks join pg_stat_activity using (pid)
            where locktype = 'advisory' and classid = $1 and objid = $2 and granted limit 1
         ) as owner`,
        LOCK,
      );
      const isOwner = rows[0]?.isOwner;
      if (!isOwner && processKind === 'service') return rows[0]?.owner ?? processKind;
      await session.query(`create database "${connection.database}"`).catch((error: unknown) => {
        // It exists (42P04), or another process creates it (23505).
        if (!hasCode(error, ['42P04', '23505'])) throw error;
      });
      if (isOwner) this.session = session;
      return null;
    } finally {
      if (this.session !== session) await session.end();
    }
  }
}

/** Whether the server, or the connection that a pool needed from it, was unavailable. */
function isTemporary(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // Node sets `path` on errors of files, such as one that a command reads: the database has not failed.
  const isOne = hasCode(error, TEMPORARY) && !('path' in error);
  return isOne || TEMPORARY_MESSAGE.test(error.message) || isTemporary(error.cause);
}

function hasCode(error: unknown, codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException).code ?? '');
}
