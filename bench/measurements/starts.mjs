// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { endWithThisProcess } from '../processes/child-processes.mjs';
import { freePort } from '../processes/ports.mjs';

const MAIN = fileURLToPath(new URL('../../dist/bundle/main.js', import.meta.url));
const START_LIMIT_MS = 60_000;
const POLL_MS = 5;

/**
 * Returns how long the service takes from its start until it is ready, in milliseconds, once a
 * round: on an embedded database that is made first, on the same one again, and with DATABASE_URL.
 *
 * @param {import('../processes/environment.mjs').Stage} stage
 * @param {number} rounds
 * @param {AbortSignal} signal ends it
 */
export async function measureStarts(stage, rounds, signal) {
  /** @type {{ coldMs: number[], warmMs: number[], databaseUrlMs: number[] }} */
  const starts = { coldMs: [], warmMs: [], databaseUrlMs: [] };
  for (let round = 0; round < rounds; round++) {
    const env = { DATA_DIR: join(stage.folder, `start-${round}`) };
    starts.coldMs.push(await startAndStop(env, signal));
    starts.warmMs.push(await startAndStop(env, signal));
    starts.databaseUrlMs.push(await startAndStop(stage.env, signal));
  }
  return starts;
}

/**
 * @param {Record<string, string>} env
 * @param {AbortSignal} signal
 * @returns {Promise<number>} milliseconds until it was ready
 */
async function startAndStop(env, signal) {
  const port = await freePort();
  const startedAt = performance.now();
  const service = spawn(process.execPath, [MAIN], {
    stdio: 'ignore',
    signal,
    env: { PATH: process.env.PATH, PORT: String(port), METRICS_PORT: '0', ...env },
  });
  endWithThisProcess(service);
  const ended = once(service, 'exit');
  try {
    while (!(await isReady(port))) {
      if (service.exitCode !== null || performance.now() - startedAt > START_LIMIT_MS) {
        throw new Error('the service did not start');
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
  return new Promise((settle) => {
    const asked = get({ host: '127.0.0.1', port, path: '/health/ready', agent: false });
    asked.once('response', (response) => {
      response.resume();
      settle(response.statusCode === 200);
    });
    asked.once('error', () => settle(false));
  });
}
