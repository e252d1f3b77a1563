// @ts-check
// Loaded into the Nest CLI by `npm run dev`, for two cases that its watcher misses.
import { subscribe } from 'node:diagnostics_channel';
import { statSync, utimesSync } from 'node:fs';
import { listFiles } from './build.mjs';
import './end-with-parent.mjs';

/** @param {string} path @returns {number} when the file was written, in milliseconds; 0 if it does not exist */
const timeOf = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

// The watcher starts a moment after the first build and the first start of the service. Files that were saved in between are saved again, with
// src/main.ts in case that they have errors, until the service has been started again.
const loadedAtMs = Date.now();
const ATTEMPT_MS = 1_000;
/** A restart can take several seconds. */
const NEXT_ATTEMPT_MS = 10_000;
let starts = 0;
subscribe('child_process', () => starts++);
const timer = setInterval(() => {
  if (starts === 0) return;
  clearInterval(timer);
  setTimeout(saveAgain, ATTEMPT_MS).unref();
}, 200).unref();

function saveAgain() {
  const saved = listFiles('src').filter((file) => timeOf(`src/${file}`) > loadedAtMs);
  if (saved.length === 0) return;
  const startsBefore = starts;
  for (const file of [...saved, 'main.ts']) utimesSync(`src/${file}`, new Date(), new Date());
  setTimeout(() => starts > startsBefore || saveAgain(), NEXT_ATTEMPT_MS).unref();
}

// A signal during a restart ends only the old process, and the new one starts. So it is repeated.
const { ppid } = process;
setInterval(() => process.ppid === ppid || process.kill(process.pid, 'SIGTERM'), 2_000).unref();
