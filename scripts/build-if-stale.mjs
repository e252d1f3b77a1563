// @ts-check
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { constants } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const SOURCE = join(ROOT, 'src');
/** The script that creates `dist/`. */
const COMPILER = join('scripts', 'compile.mjs');
const INPUT_FILES = [
  'tsconfig.json',
  'tsconfig.build.json',
  'nest-cli.json',
  'package-lock.json',
  COMPILER,
];
const ENTRY = join(ROOT, 'dist', 'main.js');
/** Contains the fingerprint of the sources of the last successful build. */
const MARKER = join(ROOT, 'dist', '.built-from');
const MODULES = join(ROOT, 'node_modules');
/** Packages of the build. `npm ci --omit=dev` does not install the last one. */
const BUILD_PACKAGES = ['typescript', '@types/node'];
const LOCK = join(MODULES, '.cache', 'build.lock');

const POLL_MS = 100;
const HEARTBEAT_MS = 1_000;
/**
 * A holder that has not touched its lock for this long has ended, even if another process has its
 * pid.
 */
const HEARTBEAT_LOST_MS = 30_000;
const WAIT_LIMIT_MS = 300_000;

/** A build failed or is not possible. The message is one line for the terminal. */
export class BuildError extends Error {}

/**
 * Builds the service unless `dist` was built from exactly these sources. It compares contents, not
 * file times, which a checkout of an older version or `touch` would make misleading.
 *
 * @param {{ force?: boolean }} [options] `force` builds in any case
 * @returns {Promise<void>}
 * @throws {BuildError}
 */
export async function buildIfStale({ force = false } = {}) {
  if (!force && isFresh()) return;
  if (BUILD_PACKAGES.some((name) => !existsSync(join(MODULES, name, 'package.json')))) {
    if (force || !existsSync(ENTRY)) {
      throw new BuildError(
        'Cannot build the service: development packages are missing. Run `npm ci` without --omit=dev.',
      );
    }
    if (existsSync(SOURCE)) {
      process.stderr.write(
        'Using the existing build, which may be older than the source: development packages are missing.\n',
      );
    }
    return;
  }
  const release = await acquireLock();
  try {
    // The previous holder of the lock has probably built the same sources.
    if (force || !isFresh()) await build();
  } finally {
    release();
  }
}

/** Like buildIfStale. Prints a failure as one line on standard error and exits with 1. */
export async function buildIfStaleOrExit() {
  await buildIfStale().catch(exitWithOneLine);
}

/** Makes the next command build again. */
export function markStale() {
  rmSync(MARKER, { force: true });
}

/** @param {unknown} error */
function exitWithOneLine(error) {
  if (!(error instanceof BuildError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}

function isFresh() {
  if (!existsSync(ENTRY) || !existsSync(MARKER) || !existsSync(SOURCE)) return false;
  return readFileSync(MARKER, 'utf8') === fingerprint();
}

/** @returns {string} a digest of the names and contents of all files of the build */
function fingerprint() {
  const hash = createHash('sha256');
  const sources = readdirSync(SOURCE, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  for (const file of [...INPUT_FILES.map((name) => join(ROOT, name)), ...sources]) {
    if (!existsSync(file)) continue;
    const content = readFileSync(file);
    hash.update(`${relative(ROOT, file)}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

async function build() {
  // Computed first, so that a file that is saved while the compiler runs makes the build stale.
  const builtFrom = fingerprint();
  rmSync(MARKER, { force: true });
  process.stderr.write('Building…\n');
  const failure = await run(COMPILER);
  if (failure !== null) throw new BuildError(`The build failed: ${COMPILER} ${failure}.`);
  if (!existsSync(ENTRY))
    throw new BuildError(`The build failed: ${relative(ROOT, ENTRY)} is missing.`);
  writeFileSync(MARKER, builtFrom);
}

/**
 * @param {string} script
 * @returns {Promise<string | null>} the reason of a failure, or null
 */
async function run(script) {
  // Its messages go to standard error, because the command that runs next uses standard output.
  const child = spawn(process.execPath, [script], {
    cwd: ROOT,
    stdio: ['ignore', process.stderr, process.stderr],
  });
  /** @type {NodeJS.Signals[]} */
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  /** @param {NodeJS.Signals} signal */
  const stop = (signal) => {
    child.kill();
    process.exit(128 + constants.signals[signal]);
  };
  for (const signal of signals) process.once(signal, stop);
  try {
    return await new Promise((settle) => {
      child.once('error', (error) => {
        settle(error.message);
      });
      child.once('exit', (code, signal) => {
        settle(code === 0 ? null : `ended with ${signal ?? `exit code ${code}`}`);
      });
    });
  } finally {
    for (const signal of signals) process.removeListener(signal, stop);
  }
}

/**
 * Waits until no other process builds.
 *
 * @returns {Promise<() => void>} a function that releases the lock
 */
async function acquireLock() {
  mkdirSync(dirname(LOCK), { recursive: true });
  const deadline = Date.now() + WAIT_LIMIT_MS;
  while (!claim(LOCK)) {
    const holder = readHolder(LOCK);
    if (holder?.isGone) removeAbandoned(LOCK);
    else if (Date.now() > deadline) {
      throw new BuildError(
        `Another process has been building for five minutes. If none is, delete ${LOCK}.`,
      );
    } else await delay(POLL_MS);
  }
  const heartbeat = setInterval(() => {
    if (!existsSync(LOCK)) return;
    const now = new Date();
    utimesSync(LOCK, now, now);
  }, HEARTBEAT_MS);
  const release = () => {
    clearInterval(heartbeat);
    process.removeListener('exit', release);
    rmSync(LOCK, { force: true });
  };
  process.once('exit', release);
  return release;
}

/**
 * @param {string} file
 * @returns {boolean} whether the file did not exist and now contains the id of this process
 */
function claim(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * @param {string} file
 * @returns {{ isGone: boolean } | null} null if no process holds it
 */
function readHolder(file) {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    const isSilent = Date.now() - statSync(file).mtimeMs > HEARTBEAT_LOST_MS;
    // The file is empty between its creation and the write of the process id.
    return { isGone: isSilent || (pid > 0 && !isRunning(pid)) };
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Removes the lock of a process that has ended. Two processes may do this at the same time. The
 * second lock and another check keep the slower one from removing the new lock of the faster one.
 *
 * @param {string} file
 */
function removeAbandoned(file) {
  const second = `${file}.removal`;
  if (!claim(second)) {
    // Processes hold it only for a moment. An old one belongs to a process that was killed.
    if (readHolder(second)?.isGone) rmSync(second, { force: true });
    return;
  }
  try {
    if (readHolder(file)?.isGone) rmSync(file, { force: true });
  } finally {
    rmSync(second, { force: true });
  }
}

/** @param {number} pid */
function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it runs, as another user.
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await buildIfStale({ force: process.argv.includes('--force') }).catch(exitWithOneLine);
}
