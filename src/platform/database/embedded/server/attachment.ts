import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Binaries } from '../installation/binaries.js';
import { EmbeddedDatabaseError } from '../embedded-database-error.js';
import { GuardProcess } from './guard-process.js';
import { completeAccess } from './server-access.js';
import type { ServerFiles } from './server-files.js';
import { startServer } from './server-process.js';
import { readPassword } from '../cluster/server-password.js';
import { ServerSession, SUPERUSER } from './server-session.js';
import { readServerState, type RunningServer } from './server-state.js';
import type { ServerUser } from '../cluster/server-user.js';

const DATABASE = 'pets';
const POLL_MS = 20;
const REATTACH_INTERVAL_MS = 500;
/** The server closes the session of a killed service within this time. */
const PREDECESSOR_TIMEOUT_MS = 1000;

/** 'service': at most one per folder; 'command': any number, with or without a service. */
export type ServerUse = 'service' | 'command';

interface AttachmentTarget {
  files: ServerFiles;
  binaries: Binaries;
  user: ServerUser | null;
  use: ServerUse;
  startTimeoutMs: number;
}

/** Keeps the server running for this process: a session with locks, and a guard that stops it. */
export class Attachment {
  private readonly sessionName: string;
  private readonly guard: GuardProcess;
  private readonly closing = new AbortController();
  private session: ServerSession | null = null;
  private server: RunningServer | undefined;
  private reattaching: Promise<void> = Promise.resolve();
  private closed: Promise<void> | undefined;

  private constructor(private readonly target: AttachmentTarget) {
    this.sessionName = `${target.use} ${process.pid} ${randomBytes(8).toString('hex')}`;
    // The guard starts first, so that the server is stopped whatever happens to this process.
    this.guard = new GuardProcess({
      dataDir: target.files.dataDir,
      binaries: target.binaries.folder,
      ownerSession: this.sessionName,
    });
  }

  static async open(target: AttachmentTarget): Promise<Attachment> {
    const attachment = new Attachment(target);
    try {
      await attachment.attach();
      return attachment;
    } catch (error) {
      // The guard may have to wait for a server that is still starting.
      attachment.guard.release();
      throw error;
    }
  }

  get connection() {
    if (!this.server) throw new Error('not attached');
    const { host, port } = this.server;
    const password = readPassword(this.target.files);
    return { host, port, user: SUPERUSER, password, database: DATABASE };
  }

  /** Detaches from the server, and stops it if no other process uses it. Idempotent. */
  close(): Promise<void> {
    this.closed ??= this.detach();
    return this.closed;
  }

  private async detach(): Promise<void> {
    this.closing.abort();
    await this.reattaching;
    await this.session?.close();
    this.guard.release();
    await this.guard.waitForEnd();
  }

  private async attach(): Promise<void> {
    const session = await this.acquireSession();
    try {
      if (this.target.use === 'service') await this.becomeService(session);
      await session.ensureDatabase(DATABASE);
    } catch (error) {
      await session.close();
      throw error;
    }
    this.guard.reportAttached();
    session.unref();
    session.onLost(() => {
      this.reattaching = this.reattach();
    });
    this.session = session;
  }

  /** Attaches again after the server has crashed or was stopped manually. */
  private async reattach(): Promise<void> {
    this.session = null;
    while (!this.closing.signal.aborted) {
      try {
        return await this.attach();
      } catch {
        await sleep(REATTACH_INTERVAL_MS, undefined, {
          signal: this.closing.signal,
          ref: false,
        }).catch(() => undefined);
      }
    }
  }

  /** Opens a session that holds the lock of the server's users. Starts the server if necessary. */
  private async acquireSession(): Promise<ServerSession> {
    const { files, binaries, user, startTimeoutMs } = this.target;
    const timeout = AbortSignal.timeout(startTimeoutMs);
    const signal = AbortSignal.any([timeout, this.closing.signal]);
    let problem = '';
    try {
      for (;;) {
        const state = await readServerState(files);
        if (state.status === 'ready') {
          const result = await this.tryAttach(state.server);
          if (result instanceof ServerSession) return result;
          problem = result;
        } else if (state.status === 'absent') {
          const port = this.server?.port;
          const failure = await startServer(files, binaries, user, { port, signal });
          if (failure === null) continue;
          if (!isTemporary(failure)) throw startError(files, failure);
          problem = failure;
        } else {
          problem = `it is still ${state.status}`;
        }
        await sleep(POLL_MS, undefined, { signal });
      }
    } catch (error) {
      if (signal.aborted) {
        throw startError(files, problem || `it is not ready after ${startTimeoutMs} ms`);
      }
      throw error;
    }
  }

  /** Returns a session that holds the lock of the server's users, or why there is none yet. */
  private async tryAttach(server: RunningServer): Promise<ServerSession | string> {
    let session: ServerSession | null = null;
    let problem = 'it is being stopped';
    try {
      session = await ServerSession.open(this.target.files, server, this.sessionName);
      if (await session.tryUse()) {
        await completeAccess(this.target.files, session);
        this.server = server;
        return session;
      }
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    await session?.close();
    return problem;
  }

  private async becomeService(session: ServerSession): Promise<void> {
    for (const end = Date.now() + PREDECESSOR_TIMEOUT_MS; ; await sleep(POLL_MS)) {
      if (await session.tryBeService()) return;
      if (Date.now() < end) continue;
      const pid = /^service (\d+) /.exec((await session.findService()) ?? '')?.[1];
      throw new EmbeddedDatabaseError(
        `another service${pid === undefined ? '' : ` (process ${pid})`} already runs on ${this.target.files.dataDir}`,
        'stop it, give this one a DATA_DIR of its own',
      );
    }
  }
}

/** Whether another process starts the server, or processes of a killed server are still ending. */
function isTemporary(failure: string): boolean {
  return /postmaster\.pid|lock file|pre-existing shared memory|is still in use/.test(failure);
}

function startError(files: ServerFiles, reason: string): EmbeddedDatabaseError {
  return new EmbeddedDatabaseError(
    `the embedded PostgreSQL in ${files.dataDir} did not start (${reason}; log: ${files.log})`,
    'fix the cause',
  );
}
