// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SERVICE } from '../comparison/peers.mjs';
import { killOnExit } from '../processes/child-processes.mjs';
import { freePort } from '../processes/ports.mjs';

const START_LIMIT_MS = 60_000;
const POLL_MS = 5;

/**
 * Measures the time from the start of the service until it is ready, in milliseconds. Each round
 * starts it with a new embedded database, with the same database again, and with DATABASE_URL.
 *
 * @param {import('../processes/environment.mjs').Environment} environment
 * @param {number} rounds
 * @param {AbortSignal} signal stops the measurement
 */
export async function measureStarts(environment, rounds, signal) {
  /** @type {{ coldMs: number[], warmMs: number[], databaseUrlMs: number[] }} */
  const starts = { coldMs: [], warmMs: [], databaseUrlMs: [] };
  for (let round = 0; round < rounds; round++) {
    const env = { DATA_DIR: join(environment.folder, `start-${round}`) };
    starts.coldMs.push(await startAndStop(env, signal));
    starts.warmMs.push(await startAndStop(env, signal));
    starts.databaseUrlMs.push(await startAndStop(environment.databaseEnv, signal));
  }
  return starts;
}

/**
 * @param {Record<string, string>} env
 * @param {AbortSignal} signal
 * @returns {Promise<number>} milliseconds until the service was ready
 */
async function startAndStop(env, signal) {
  const port = await freePort();
  const startedAt = performance.now();
  const service = spawn(process.execPath, [SERVICE.program], {
    stdio: 'ignore',
    signal,
    env: { PATH: process.env.PATH, PORT: String(port), METRICS_PORT: '0', ...env },
  });
  killOnExit(service);
  const ended = once(service, 'exit');
  try {
    while (!(await isReady(port))) {
      if (service.exitCode !== null || performance.now() - startedAt > START_LIMIT_MS) {
        throw new Error('The service did not start.');
      }
      await delay(POLL_MS);
    }
    return performance.now() - startedAt;
  } finally {
    service.kill('SIGTERM');
    await ended;
  }
}

/** @param {number} port @returns {Promise<boolean>} */
function isReady(port) {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path: '/health/ready', agent: false });
    request.once('response', (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.once('error', () => resolve(false));
  });
}
