// @ts-check
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { killOnExit } from './child-processes.mjs';
import { freePort, waitUntilListening } from './ports.mjs';

/**
 * Starts a redis-server without persistence.
 *
 * @param {string} folder its working directory
 * @returns {Promise<{ pid: number, url: string, close: () => Promise<void> } | undefined>}
 *   undefined if redis-server is not installed
 */
export async function startRedis(folder) {
  if (spawnSync('redis-server', ['--version'], { stdio: 'ignore' }).error) return undefined;
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const server = spawn('redis-server', args, { cwd: folder, stdio: 'ignore', detached: true });
  killOnExit(server);
  const ended = once(server, 'exit');
  const close = async () => {
    server.kill();
    await ended;
  };
  await waitUntilListening(port);
  return { pid: server.pid ?? 0, url: `redis://127.0.0.1:${port}`, close };
}
