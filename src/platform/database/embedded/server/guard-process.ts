import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '../cluster/child-environment.js';

/** The argument of the guard program, in JSON. */
export interface GuardOrders {
  dataDir: string;
  /** The folder of the binaries. */
  binaries: string;
  /** The name of the session of its owner. */
  ownerSession: string;
}

/** The owner's message when it is attached. A missing server has then ended. */
export const ATTACHED = 'attached';

/** Longer than the longest shutdown. */
const RELEASE_TIMEOUT_MS = 40_000;
const REPLACE_AFTER_MS = 1000;

/**
 * A process that stops the server after its owner has ended, even after kill -9: the pipe between
 * the two closes. Signals of the terminal do not reach it. A killed guard is replaced.
 */
export class GuardProcess {
  private guard: ChildProcess;
  private ended: Promise<unknown> = Promise.resolve();
  private attached = false;
  private released = false;

  constructor(private readonly orders: GuardOrders) {
    this.guard = this.start();
  }

  /** The owner has found or started a server. */
  reportAttached(): void {
    if (this.attached) return;
    this.attached = true;
    this.guard.stdin?.write(ATTACHED);
  }

  /** Lets the guard stop the server unless other processes use it. */
  release(): void {
    this.released = true;
    const isDead = this.guard.exitCode !== null || this.guard.signalCode !== null;
    if (isDead) this.guard = this.start();
    this.guard.stdin?.end();
  }

  /** Resolves when the released guard has ended, or after a time limit. */
  async waitForEnd(): Promise<void> {
    const timeout = new AbortController();
    await Promise.race([
      this.ended,
      sleep(RELEASE_TIMEOUT_MS, undefined, { signal: timeout.signal }),
    ]);
    timeout.abort();
  }

  private start(): ChildProcess {
    const script = fileURLToPath(new URL('./guard.js', import.meta.url));
    const guard = spawn(process.execPath, [script, JSON.stringify(this.orders)], {
      cwd: process.platform === 'win32' ? undefined : '/',
      detached: true,
      env: childEnvironment(),
      stdio: ['pipe', 'ignore', 'ignore'],
      windowsHide: true,
    });
    this.ended = once(guard, 'exit').catch(() => undefined);
    guard.on('error', () => undefined);
    guard.on('exit', () => {
      const replace = () => {
        if (!this.released) this.guard = this.start();
      };
      setTimeout(replace, REPLACE_AFTER_MS).unref();
    });
    // A write to a guard that was just killed fails.
    guard.stdin.on('error', () => undefined);
    if (this.attached) guard.stdin.write(ATTACHED);
    // Neither the process nor the pipe keeps its owner running.
    if (guard.stdin instanceof Socket) guard.stdin.unref();
    guard.unref();
    return guard;
  }
}
