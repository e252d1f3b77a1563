import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '../cluster/child-environment.js';

/** What a guard is told, as its one argument in JSON. */
export interface GuardOrders {
  dataDir: string;
  /** The folder of the binaries. */
  binaries: string;
  /** The name of its owner's session. */
  ownerSession: string;
}

/**
 * What an owner says once it is attached: a server that is absent then has ended, and is not about
 * to begin.
 */
export const ATTACHED = 'attached';

/** Longer than a guard takes for the longest shutdown. */
const RELEASE_TIMEOUT_MS = 40_000;
const REPLACE_AFTER_MS = 1000;

/**
 * A process that stops the server after its owner has ended, however that came about: the pipe
 * between the two closes with the owner's last breath. It has a session of its own, which the
 * terminal's signals do not reach. One that is killed is replaced.
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

  /** Has the guard stop the server unless others use it. */
  release(): void {
    this.released = true;
    const isDead = this.guard.exitCode !== null || this.guard.signalCode !== null;
    if (isDead) this.guard = this.start();
    this.guard.stdin?.end();
  }

  /** Resolves when the released guard is done, or after a bound. */
  async waitForEnd(): Promise<void> {
    const bound = new AbortController();
    await Promise.race([
      this.ended,
      sleep(RELEASE_TIMEOUT_MS, undefined, { signal: bound.signal }),
    ]);
    bound.abort();
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
    guard.on('exit', () => this.replace());
    // The write to one that has just been killed.
    guard.stdin.on('error', () => undefined);
    if (this.attached) guard.stdin.write(ATTACHED);
    // Neither the process nor the pipe keeps its owner running.
    if (guard.stdin instanceof Socket) guard.stdin.unref();
    guard.unref();
    return guard;
  }

  private replace(): void {
    if (this.released) return;
    setTimeout(() => {
      if (!this.released) this.guard = this.start();
    }, REPLACE_AFTER_MS).unref();
  }
}
