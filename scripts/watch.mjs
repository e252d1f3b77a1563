// @ts-check
// Loaded into the Nest CLI by `npm run dev`, for two cases that its watcher misses.
import { statSync, utimesSync } from 'node:fs';
import { listFiles } from './build.mjs';
import './end-with-parent.mjs';

/** @param {string} path @returns {number} when the file was written, in milliseconds; 0 if it does not exist */
const timeOf = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

// The watcher starts a moment after the first build. Files that were saved in between are saved again, so that it notices them.
const startedAtMs = Date.now();
const timer = setInterval(() => {
  const builtAtMs = timeOf('dist/main.js');
  if (builtAtMs < startedAtMs || Date.now() < builtAtMs + 1_000) return;
  clearInterval(timer);
  const saved = listFiles('src').filter((file) => timeOf(`src/${file}`) > startedAtMs);
  for (const file of saved) utimesSync(`src/${file}`, new Date(), new Date());
}, 200).unref();

// A signal during a restart ends only the old process, and the new one starts. So it is repeated.
const { ppid } = process;
setInterval(() => process.ppid === ppid || process.kill(process.pid, 'SIGTERM'), 2_000).unref();
