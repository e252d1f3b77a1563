// @ts-check
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildIfStaleOrExit } from './build-if-stale.mjs';

const ENV_FILE = join(resolve(dirname(fileURLToPath(import.meta.url)), '..'), '.env');

const PROGRAMS = { main: '../dist/main.js', cli: '../dist/cli/main.js' };

/**
 * Runs a program of the build with the settings of `.env`. The environment's variables take
 * precedence. The program runs in this process, so that it receives signals and sets the exit code.
 *
 * @param {keyof typeof PROGRAMS} program
 */
export async function runBuilt(program) {
  await buildIfStaleOrExit();
  loadEnvFile();
  await import(new URL(PROGRAMS[program], import.meta.url).href);
}

/** Adds the variables of `.env` to the environment, which takes precedence. */
export function loadEnvFile() {
  try {
    process.loadEnvFile(ENV_FILE);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code !== 'ENOENT') {
      process.stderr.write(`${ENV_FILE} cannot be read: ${message}\n`);
      process.exit(1);
    }
  }
}
