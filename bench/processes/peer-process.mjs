// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { compile } from '../../scripts/typescript-transform.mjs';
import { killOnExit } from './child-processes.mjs';
import { freePort, waitUntilListening } from './ports.mjs';

const STOP_LIMIT_MS = 5_000;
const POOL_SIZE = '10';
/** In the folder of the project, so that imports of packages resolve. */
const COMPILED = fileURLToPath(new URL('../../node_modules/.cache/bench', import.meta.url));

/** A running process of a peer. */
export class PeerProcess {
  #child;

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
    this.pid = child.pid ?? 0;
  }

  /**
   * Starts a peer with NODE_ENV=production and waits until it listens. Its output goes to a file.
   *
   * @param {import('../comparison/peers.mjs').Peer} peer
   * @param {import('./environment.mjs').Environment} environment
   * @param {AbortSignal} signal kills the process
   * @param {string[]} flags of Node.js
   * @throws if it does not start
   */
  static async start(peer, environment, signal, flags = []) {
    const port = await freePort();
    const logFile = join(environment.folder, `${peer.name}.log`);
    const log = openSync(logFile, 'w');
    const { store: current, earlier = current } = environment;
    const store = peer.name === 'earlier' ? earlier : current;
    const child = spawn(process.execPath, [...flags, compiled(peer.program)], {
      stdio: ['ignore', log, log],
      signal,
      env: {
        PATH: process.env.PATH,
        NODE_ENV: 'production',
        PORT: String(port),
        POOL_SIZE,
        DATABASE_POOL_SIZE: POOL_SIZE,
        REJECTED_KEY: store.keys.rejected,
        ...store.env,
        ...(peer.redis && { REDIS_URL: environment.redisUrl }),
        ...peer.env,
      },
    });
    closeSync(log);
    killOnExit(child);
    child.on('error', () => undefined);
    const started = new PeerProcess(peer, port, logFile, child);
    const ended = once(child, 'exit').then(() => started.fail('ended'));
    // If the process ends later, the next request fails.
    ended.catch(() => undefined);
    await Promise.race([waitUntilListening(port), ended]);
    return started;
  }

  /** @param {string} reason @returns {never} throws an error with the last output of the process */
  fail(reason) {
    const output = readFileSync(this.logFile, 'utf8').slice(-2_000);
    throw new Error(`${this.peer.name} ${reason}${output ? `:\n${output}` : '.'}`);
  }

  async stop() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    const killTimer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_LIMIT_MS);
    await exited;
    clearTimeout(killTimer);
  }
}

/** @param {string} program @returns {string} the program, or its JavaScript if it is TypeScript */
function compiled(program) {
  if (!program.endsWith('.ts')) return program;
  mkdirSync(COMPILED, { recursive: true });
  const file = join(COMPILED, `${basename(program, '.ts')}.mjs`);
  writeFileSync(file, compile(readFileSync(program, 'utf8'), program, ts.ModuleKind.ESNext));
  return file;
}
