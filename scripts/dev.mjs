// @ts-check
// `npm run dev`: builds when a file of src/ changes, and restarts the service after a build without errors.
// Options are those of the service's Node.js: npm run dev -- --inspect
import { ROOT } from './build-if-stale.mjs';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, watch } from 'node:fs';
import { join } from 'node:path';

const BUILD = join(ROOT, 'scripts/build-if-stale.mjs');
const ENV_FILE = join(ROOT, '.env');
/** An editor may write several files at once. */
const PAUSE_MS = 100;

/** @type {import('node:child_process').ChildProcess | undefined} */
let service;
/** @type {NodeJS.Timeout | undefined} */
let timer;
let work = restart();

const watcher = watch(join(ROOT, 'src'), { recursive: true }, () => {
  clearTimeout(timer);
  timer = setTimeout(() => void (work = work.then(restart)), PAUSE_MS);
});
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
  process.once(signal, () => {
    watcher.close();
    clearTimeout(timer);
    work = work.then(stop);
  });
}

async function restart() {
  if (spawnSync(process.execPath, [BUILD], { stdio: 'inherit' }).status !== 0) return;
  await stop();
  if (existsSync(ENV_FILE)) process.loadEnvFile(ENV_FILE);
  const flags = ['--enable-source-maps', ...process.argv.slice(2)];
  service = spawn(process.execPath, [...flags, 'dist/main.js'], { cwd: ROOT, stdio: 'inherit' });
}

/** Stops the service as an operator would, so that it closes its database. */
async function stop() {
  if (service?.exitCode !== null || service.signalCode !== null) return;
  const exited = once(service, 'exit');
  service.kill('SIGTERM');
  await exited;
}
