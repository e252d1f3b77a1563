// @ts-check
// The Nest CLI of `npm run dev`, which gets the arguments, with two cases that it does not handle.
import { subscribe } from 'node:diagnostics_channel';
import { statSync, utimesSync } from 'node:fs';
import { listFiles } from './build.mjs';
import './end-with-parent.mjs';

/** @param {string} path @returns {number} when the file was written, in milliseconds; 0 if it does not exist */
const timeOf = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

// The watcher starts a moment after the first build, and misses the files that were saved before. So their times are renewed until the service
// has been started again. A file with an error does not lead to a start: that of src/main.ts, which has none, shows that the watcher works.
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

// A SIGTERM of end-with-parent.mjs during a restart ends only the old service, and the CLI starts a new one. So it is repeated.
const { ppid } = process;
setInterval(() => process.ppid === ppid || process.kill(process.pid, 'SIGTERM'), 2_000).unref();

// Found as other packages are: in a workspace, it is not in the folder of the project.
await import('@nestjs/cli/bin/nest.js');
