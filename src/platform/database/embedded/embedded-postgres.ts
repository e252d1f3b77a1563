import { mkdirSync, realpathSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { ensureCluster } from './cluster.js';
import { EmbeddedDatabaseError } from './embedded-database-error.js';
import { Server } from './server.js';
import { PRODUCT } from '../../../product.js';

const DATABASE = PRODUCT.database;
/** The advisory lock of the server's owner: the number of earlier releases. */
const LOCK = [0x70657473, 2];

const POLL_MS = 50;
/** How long another process may take to start or stop the server. */
const START_LIMIT_MS = 60_000;
/** The server closes the connection of a killed service within this time. */
const PREDECESSOR_LIMIT_MS = 1000;
const CONNECT_TIMEOUT_MS = 5000;
const QUERY_TIMEOUT_MS = 10_000;

export interface EmbeddedOptions {
  /** Created if missing. A relative path starts at the working directory. */
  dataDir: string;
  /** 'service': at most one per folder; 'command': any number, with or without a service. */
  use: 'service' | 'command';
  /** Ends the start. */
  signal?: AbortSignal | undefined;
  /** Called when a service begins to wait for a command. */
  onWait?: (() => void) | undefined;
}

/** Why this process cannot use the server yet: the name of its owner, or a failure. */
type Obstacle = { owner: string } | { failure: string };

/**
 * Uses the server of the folder. Creates the cluster and starts the server if necessary.
 *
 * @throws EmbeddedDatabaseError, or the reason of `signal`
 */
export async function openEmbeddedDatabase(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const { dataDir, signal } = options;
  let database: EmbeddedDatabase | undefined;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const path = realpathSync(dataDir);
    const programs = await ensureCluster(path, signal);
    database = new EmbeddedDatabase(path, new Server(path, programs), options);
    await database.attach();
    signal?.throwIfAborted();
    return database;
  } catch (error) {
    await database?.close();
    signal?.throwIfAborted();
    if (error instanceof EmbeddedDatabaseError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new EmbeddedDatabaseError(
      `the embedded database in ${dataDir} cannot be used (${message})`,
      code === 'EACCES' ? 'run this as the user who owns the folder' : 'choose another DATA_DIR',
      { cause: error },
    );
  }
}

/**
 * The server of a folder as one process uses it.
 *
 * - The process that holds an advisory lock owns the server and stops it.
 * - If the owner is killed, the kernel closes its connection, which frees the lock. The server
 *   stays. The next process that opens the database uses it and becomes its owner.
 * - A command uses a server that another process owns. A service waits until the owner, a command,
 *   has stopped it. A second service is rejected.
 * - If the server ends, the service that owns it ends with an uncaught error.
 * - PostgreSQL's postmaster.pid decides which of two servers that start at once wins.
 */
export class EmbeddedDatabase {
  /** Holds the lock. null: another process owns the server. */
  private session: Client | null = null;

  constructor(
    private readonly dataDir: string,
    private readonly server: Server,
    private readonly options: EmbeddedOptions,
  ) {}

  get connection() {
    return { ...this.server.connection, database: DATABASE };
  }

  /** Stops the server if this process owns it. */
  async close(): Promise<void> {
    const { session } = this;
    this.session = null;
    if (session === null) return;
    // With the lock: nobody becomes the owner of a server that stops.
    await this.server.stop();
    await session.end();
  }

  /** Connects to the server, starts it if necessary, and becomes its owner if it has none. */
  async attach(): Promise<void> {
    const { signal, onWait } = this.options;
    let startedAtMs = performance.now();
    let isWaiting = false;
    for (; ; await sleep(POLL_MS)) {
      signal?.throwIfAborted();
      const obstacle = await this.tryAttach();
      if (obstacle === null) return;
      const elapsedMs = performance.now() - startedAtMs;
      if ('failure' in obstacle) {
        if (elapsedMs > START_LIMIT_MS) throw this.startError(obstacle.failure);
      } else if (obstacle.owner.startsWith('command')) {
        if (!isWaiting) onWait?.();
        isWaiting = true;
        startedAtMs = performance.now();
      } else if (elapsedMs > PREDECESSOR_LIMIT_MS) {
        throw new EmbeddedDatabaseError(
          `another ${obstacle.owner.replace(/\d+/, '(process $&)')} already runs on ${this.dataDir}`,
          'stop it, give this one a DATA_DIR of its own',
        );
      }
    }
  }

  private async tryAttach(): Promise<Obstacle | null> {
    try {
      return await this.own();
    } catch (error) {
      const { message } = error as Error;
      // The server is starting, stopping or full, or the connection broke.
      const isLost = /^Connection terminated|is not queryable/.test(message);
      if (isLost || hasCode(error, '57P01', '57P03', '53300', 'ECONNRESET', 'EPIPE')) {
        return { failure: message };
      }
      // Nobody listens.
      if (!hasCode(error, 'ENOENT', 'ECONNREFUSED')) throw error;
    }
    const failure = await this.server.start();
    if (failure === null) return this.tryAttach();
    // Another process starts the server, or processes of a killed server are still ending.
    if (/postmaster\.pid|lock file|shared memory/.test(failure)) return { failure };
    throw this.startError(failure);
  }

  /** Tries to become the owner of the server that runs. A command also uses one of another owner. */
  private async own(): Promise<{ owner: string } | null> {
    const { use } = this.options;
    const session = new Client({
      ...this.server.connection,
      // Not the service's database, so that it can be dropped.
      database: 'postgres',
      application_name: `${use} ${process.pid}`,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
    });
    session.on('error', () => undefined);
    session.once('end', () => {
      // A command reports the failure of its own statement.
      if (this.session !== session || use === 'command') return;
      throw new EmbeddedDatabaseError(
        'the embedded PostgreSQL has ended',
        'start the service again',
      );
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
      const { isOwner, owner } = rows[0] ?? { isOwner: false, owner: null };
      if (!isOwner && use === 'service') return { owner: owner ?? use };
      await session.query(`create database "${DATABASE}"`).catch((error: unknown) => {
        // It exists (42P04), or another process creates it (23505).
        if (!hasCode(error, '42P04', '23505')) throw error;
      });
      if (isOwner) this.session = session;
      return null;
    } finally {
      if (this.session !== session) await session.end();
    }
  }

  private startError(failure: string): EmbeddedDatabaseError {
    return new EmbeddedDatabaseError(
      `the embedded PostgreSQL in ${this.dataDir} did not start (${failure}; log: ${this.server.log})`,
      'fix the cause',
    );
  }
}

function hasCode(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException).code ?? '');
}
