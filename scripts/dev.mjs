// @ts-check
// `npm run dev`: compiles src/ when a file changes, and restarts the service once it compiles.
// Options are those of the service's Node.js: npm run dev -- --inspect
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { markStale, ROOT } from './build-if-stale.mjs';
import { loadEnvFile } from './run-built.mjs';

// Not before the check of the packages, because it imports the compiler.
const { watchSources } = await import('./compile.mjs');

/** @type {import('node:child_process').ChildProcess | undefined} */
let service;
let restarts = Promise.resolve();

loadEnvFile();
// `npm start` must not use a build that this process changes.
markStale();
const stopWatching = watchSources(() => {
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
  const flags = ['--enable-source-maps', ...process.argv.slice(2)];
  service = spawn(process.execPath, [...flags, 'dist/main.js'], { cwd: ROOT, stdio: 'inherit' });
}

/** Stops the service as an operator would, so that it closes its database. It limits the time itself. */
async function stop() {
  if (service?.exitCode !== null || service.signalCode !== null) return;
  const exited = once(service, 'exit');
  service.kill('SIGTERM');
  await exited;
}
