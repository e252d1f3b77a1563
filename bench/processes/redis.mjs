// @ts-check
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { endWithThisProcess } from './child-processes.mjs';
import { freePort, untilItListens } from './ports.mjs';

const START_LIMIT_MS = 10_000;

/**
 * Starts a redis-server that keeps nothing, as counters need no more.
 *
 * @param {string} folder where it works
 * @param {number} [wantedPort] any free one by default
 * @returns {Promise<{ pid: number, url: string, close: () => Promise<void> } | undefined>} undefined: there is none
 */
export async function startRedis(folder, wantedPort) {
  if (spawnSync('redis-server', ['--version'], { stdio: 'ignore' }).error) return undefined;
  const port = wantedPort ?? (await freePort());
  const settings = { port, bind: '127.0.0.1', save: '', appendonly: 'no' };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const server = spawn('redis-server', [...args, '--maxmemory-policy', 'noeviction'], {
    cwd: folder,
    stdio: 'ignore',
    detached: true,
  });
  endWithThisProcess(server);
  const ended = once(server, 'exit');
  const close = async () => {
    server.kill();
    await ended;
  };
  try {
    await untilItListens(port, START_LIMIT_MS);
  } catch (error) {
    await close();
    throw error;
  }
  return { pid: server.pid ?? 0, url: `redis://127.0.0.1:${port}`, close };
}
