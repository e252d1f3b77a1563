// @ts-check
// `npm run dev`: compiles src/ when a file changes, and restarts the service once it compiles.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { markStale } from './build-if-stale.mjs';
import { ROOT, watchSources } from './compile.mjs';
import { loadEnvFile } from './run-built.mjs';

const STOP_LIMIT_MS = 15_000;

/** @type {import('node:child_process').ChildProcess | undefined} */
let service;
let restarts = Promise.resolve();

loadEnvFile();
// `npm start` must not use a build that this process changes.
markStale();
const stopWatching = await watchSources(() => {
  restarts = restarts.then(restart);
});

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
  process.once(signal, () => {
    stopWatching();
    restarts = restarts.then(stop);
  });
}

async function restart() {
  await stop();
  service = spawn(process.execPath, ['--enable-source-maps', 'dist/main.js'], {
    cwd: ROOT,
    stdio: 'inherit',
  });
}

/** Stops the service as an operator would, so that it closes its database. */
async function stop() {
  if (service?.exitCode !== null || service.signalCode !== null) return;
  const exited = once(service, 'exit');
  service.kill('SIGTERM');
  const limit = setTimeout(() => service?.kill('SIGKILL'), STOP_LIMIT_MS);
  await exited;
  clearTimeout(limit);
}
