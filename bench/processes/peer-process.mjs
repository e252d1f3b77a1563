// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformFileSync } from '@swc/core';
import { killOnExit } from './child-processes.mjs';
import { freePort, waitUntilListening } from './ports.mjs';

const STOP_LIMIT_MS = 5_000;
const POOL_SIZE = '10';
/** In the folder of the project, so that imports of packages resolve. */
const COMPILED = fileURLToPath(new URL('../../node_modules/.cache/bench', import.meta.url));

/** @typedef {Awaited<ReturnType<typeof startPeer>>} PeerProcess */

/**
 * Starts a peer with NODE_ENV=production and waits until it listens. Its output goes to a file.
 *
 * @param {import('../comparison/peers.mjs').Peer} peer
 * @param {import('./environment.mjs').Environment} environment
 * @param {AbortSignal} signal kills the process
 * @throws if it does not start
 */
export async function startPeer(peer, environment, signal) {
  const port = await freePort();
  const logFile = join(environment.folder, `${peer.name}.log`);
  const log = openSync(logFile, 'w');
  const { store: current, earlier = current } = environment;
  const store = peer.name === 'earlier' ? earlier : current;
  const child = spawn(peer.node ?? process.execPath, [compiled(peer.program)], {
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
  /** @type {(reason: string) => never} throws an error with the last output of the process */
  const fail = (reason) => {
    const output = readFileSync(logFile, 'utf8').slice(-2_000);
    throw new Error(`${peer.name} ${reason}${output ? `:\n${output}` : '.'}`);
  };
  const exited = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGTERM');
    const killTimer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
    await exited;
    clearTimeout(killTimer);
  };
  const ended = exited.then(() => fail('ended'));
  // If the process ends later, the next request fails.
  ended.catch(() => undefined);
  // On a busy machine, a start can take a minute.
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  await Promise.race([waitUntilListening(port, hasEnded), ended]);
  return { ...peer, port, pid: child.pid ?? 0, fail, stop };
}

/** @param {string} program @returns {string} the program, or its JavaScript if it is TypeScript */
function compiled(program) {
  if (!program.endsWith('.ts')) return program;
  mkdirSync(COMPILED, { recursive: true });
  const file = join(COMPILED, `${basename(program, '.ts')}.mjs`);
  writeFileSync(file, transformFileSync(program).code);
  return file;
}
