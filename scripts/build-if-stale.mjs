// @ts-check
// Builds the service unless `dist` was built from the present sources. Usage: node build-if-stale.mjs [--force]
import './check-installation.cjs';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');
export const SOURCE = join(ROOT, 'src');
const ENTRY = join(ROOT, 'dist', 'main.js');
/** Contains the fingerprint of the sources of the last successful build. */
export const MARKER = join(ROOT, 'dist', '.built-from');
const COMPILER = join(ROOT, 'scripts', 'compile.mjs');
const CONFIGURATION = ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];
/** `npm ci --omit=dev` does not install the last one. */
const BUILD_PACKAGES = ['typescript', '@types/node'];

/**
 * Builds the service if the sources or the configuration of the build have changed. It compares
 * contents, not file times, which a checkout of an older version would make misleading. If the build
 * fails, it prints the reason and exits with 1.
 *
 * @param {{ force?: boolean }} [options] `force` builds in any case
 */
export function buildIfStaleOrExit({ force = false } = {}) {
  if (!force && isFresh()) return;
  if (!BUILD_PACKAGES.every(isInstalled)) {
    const reason = 'development packages are missing';
    if (force || !existsSync(ENTRY)) {
      exit(`Cannot build the service: ${reason}. Run \`npm ci\` without --omit=dev.`);
    }
    // A production installation may contain only the build.
    if (!existsSync(SOURCE)) return;
    process.stderr.write(
      `Using the existing build, which may be older than the source: ${reason}.\n`,
    );
    return;
  }
  process.stderr.write('Building…\n');
  // In another process, because the compiler's memory would stay. The next command uses standard output.
  const { status, signal } = spawnSync(process.execPath, [COMPILER], {
    stdio: ['ignore', process.stderr.fd, process.stderr.fd],
  });
  if (status !== 0) exit(`The build failed${signal ? `: ${signal} ended it` : ''}.`);
}

/** Makes the next command build again. */
export function markStale() {
  rmSync(MARKER, { force: true });
}

/** @returns {string} a digest of the names and contents of all files of the build */
export function fingerprint() {
  const hash = createHash('sha256');
  const sources = readdirSync(SOURCE, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  for (const file of [...CONFIGURATION.map((name) => join(ROOT, name)), COMPILER, ...sources]) {
    if (!existsSync(file)) continue;
    const content = readFileSync(file);
    hash.update(`${relative(ROOT, file)}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

function isFresh() {
  const isComplete = [ENTRY, MARKER, SOURCE].every((path) => existsSync(path));
  return isComplete && readFileSync(MARKER, 'utf8') === fingerprint();
}

/** @param {string} name of a package */
function isInstalled(name) {
  try {
    return createRequire(import.meta.url).resolve(`${name}/package.json`) !== '';
  } catch {
    return false;
  }
}

/** Ends the process with one line. @param {string} message @returns {never} */
export function exit(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  buildIfStaleOrExit({ force: process.argv.includes('--force') });
}
