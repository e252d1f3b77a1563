import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFolder, ensureCluster, removeUnfinished } from './cluster.js';
import { EmbeddedDatabaseError } from './embedded-database-error.js';
import { Server } from './server.js';
import { isAbsent, isTemporary, Session } from './session.js';

const DATABASE = 'pets';
const POLL_MS = 50;
const REATTACH_INTERVAL_MS = 500;
/** How long another process may take to start or stop the server. */
const START_LIMIT_MS = 60_000;
/** The server closes the connection of a killed service within this time. */
const PREDECESSOR_LIMIT_MS = 1000;

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

/** Why this process cannot use the server yet: its owner's session, or a failure. */
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
    createFolder(resolve(dataDir));
    const path = realpathSync(dataDir);
    const programs = await ensureCluster(path, signal);
    database = new EmbeddedDatabase(path, new Server(path, programs), options);
    await database.attach(signal);
    signal?.throwIfAborted();
    return database;
  } catch (error) {
    await database?.close();
    signal?.throwIfAborted();
    if (error instanceof EmbeddedDatabaseError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const isForbidden = (error as NodeJS.ErrnoException).code === 'EACCES';
    throw new EmbeddedDatabaseError(
      `the embedded database in ${dataDir} cannot be used (${reason})`,
      isForbidden ? 'run this as the user who owns the folder' : 'choose another DATA_DIR',
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
 * - PostgreSQL's postmaster.pid decides which of two servers that start at once wins.
 */
export class EmbeddedDatabase {
  private readonly closing = new AbortController();
  /** Holds the lock. */
  private session: Session | null = null;
  private attached: Promise<void> = Promise.resolve();
  private closed: Promise<void> | undefined;

  constructor(
    private readonly dataDir: string,
    private readonly server: Server,
    private readonly options: EmbeddedOptions,
  ) {}

  get connection() {
    return { ...this.server.connection, database: DATABASE };
  }

  /** Stops the server if this process owns it. Idempotent. */
  close(): Promise<void> {
    this.closed ??= this.end();
    return this.closed;
  }

  private async end(): Promise<void> {
    this.closing.abort();
    await this.attached;
    // With the lock: nobody becomes the owner of a server that stops.
    if (this.session !== null) await this.server.stop();
    await this.session?.close();
  }

  /** Connects to the server, starts it if necessary, and becomes its owner if it has none. */
  async attach(signal?: AbortSignal): Promise<void> {
    let startedAtMs = Date.now();
    let isWaiting = false;
    for (; ; await sleep(POLL_MS)) {
      signal?.throwIfAborted();
      const obstacle = await this.tryAttach();
      if (obstacle === null) return;
      const elapsedMs = Date.now() - startedAtMs;
      if ('failure' in obstacle) {
        if (elapsedMs > START_LIMIT_MS) throw this.startError(obstacle.failure);
      } else if (obstacle.owner.startsWith('command')) {
        if (!isWaiting) this.options.onWait?.();
        isWaiting = true;
        startedAtMs = Date.now();
      } else if (elapsedMs > PREDECESSOR_LIMIT_MS) {
        throw new EmbeddedDatabaseError(
          `another ${obstacle.owner.replace(/\d+/, '(process $&)')} already runs on ${this.dataDir}`,
          'stop it, give this one a DATA_DIR of its own',
        );
      }
    }
  }

  private async tryAttach(): Promise<Obstacle | null> {
    const { use } = this.options;
    let session: Session | null = null;
    try {
      session = await Session.open(this.server.connection, `${use} ${process.pid}`);
      const { isOwner, owner } = await session.tryOwn();
      if (isOwner) this.session = session;
      if (isOwner || use === 'command') await session.ensureDatabase(DATABASE);
      if (isOwner) return this.keep(session);
      await session.close();
      return use === 'command' ? null : { owner: owner ?? 'service' };
    } catch (error) {
      await session?.close();
      if (!isAbsent(error) && !isTemporary(error)) throw error;
      this.session = null;
      if (!isAbsent(error)) return { failure: (error as Error).message };
    }
    const failure = await this.server.start();
    if (failure === null) return this.tryAttach();
    // Another process starts the server, or processes of a killed server are still ending.
    if (/postmaster\.pid|lock file|shared memory/.test(failure)) return { failure };
    throw this.startError(failure);
  }

  private keep(session: Session): null {
    removeUnfinished(this.dataDir);
    session.onEnd(() => {
      if (this.options.use === 'command' || this.closing.signal.aborted) return;
      this.session = null;
      this.attached = this.attachAgain();
    });
    return null;
  }

  /** The server has crashed, or an operator has stopped it. */
  private async attachAgain(): Promise<void> {
    while (!this.closing.signal.aborted) {
      try {
        return await this.attach(this.closing.signal);
      } catch {
        await sleep(REATTACH_INTERVAL_MS);
      }
    }
  }

  private startError(failure: string): EmbeddedDatabaseError {
    return new EmbeddedDatabaseError(
      `the embedded PostgreSQL in ${this.dataDir} did not start (${failure}; log: ${this.server.log})`,
      'fix the cause',
    );
  }
}
