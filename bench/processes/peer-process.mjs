// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { compile } from '../../scripts/typescript-transform.mjs';
import { endWithThisProcess } from './child-processes.mjs';
import { freePort, untilItListens } from './ports.mjs';

const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 5_000;
const POOL_SIZE = '10';
/** Inside the installation, so that packages are found. */
const COMPILED = fileURLToPath(new URL('../../node_modules/.cache/bench', import.meta.url));

/** A peer at work. */
export class PeerProcess {
  /** @type {import('node:child_process').ChildProcess} */
  #child;
  /** Requests that it has served. */
  requests = 0;

  /**
   * @param {import('../comparison/peers.mjs').Peer} peer
   * @param {number} port
   * @param {string} logFile
   * @param {import('node:child_process').ChildProcess} child
   */
  constructor(peer, port, logFile, child) {
    this.peer = peer;
    this.port = port;
    this.logFile = logFile;
    this.#child = child;
  }

  get pid() {
    return this.#child.pid ?? 0;
  }

  /**
   * Starts a peer as in production and waits until it listens. What it prints goes to a file, as
   * the service's log does on many machines.
   *
   * @param {import('../comparison/peers.mjs').Peer} peer
   * @param {import('./environment.mjs').Stage} stage
   * @param {AbortSignal} signal ends it
   * @param {string[]} flags of Node.js
   * @throws when it does not start
   */
  static async start(peer, stage, signal, flags = []) {
    const port = await freePort();
    const logFile = join(stage.folder, `${peer.name}.log`);
    const log = openSync(logFile, 'w');
    const child = spawn(process.execPath, [...flags, runnable(peer.program)], {
      stdio: ['ignore', log, log],
      signal,
      env: {
        PATH: process.env.PATH,
        NODE_ENV: 'production',
        PORT: String(port),
        POOL_SIZE,
        DATABASE_POOL_SIZE: POOL_SIZE,
        ...stage.env,
        ...(peer.redis && { REDIS_URL: stage.redisUrl }),
        ...peer.env,
      },
    });
    closeSync(log);
    endWithThisProcess(child);
    child.on('error', () => undefined);
    const started = new PeerProcess(peer, port, logFile, child);
    const ended = once(child, 'exit').then(() => started.fail('ended'));
    try {
      await Promise.race([untilItListens(port, START_LIMIT_MS), ended]);
    } catch (error) {
      await started.stop();
      throw error;
    }
    // The next request reports its end.
    ended.catch(() => undefined);
    return started;
  }

  /** @param {string} what @returns {never} */
  fail(what) {
    const printed = readFileSync(this.logFile, 'utf8').slice(-2_000);
    throw new Error(`${this.peer.name} ${what}${printed ? `:\n${printed}` : '.'}`);
  }

  async stop() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    const impatience = setTimeout(() => this.#child.kill('SIGKILL'), STOP_LIMIT_MS);
    await exited;
    clearTimeout(impatience);
  }
}

/** @param {string} program @returns {string} JavaScript that Node runs */
function runnable(program) {
  if (!program.endsWith('.ts')) return program;
  const code = compile(readFileSync(program, 'utf8'), program, ts.ModuleKind.ESNext);
  mkdirSync(COMPILED, { recursive: true });
  const file = join(COMPILED, `${basename(program, '.ts')}.mjs`);
  writeFileSync(file, code);
  return file;
}
