// @ts-check
import { join } from 'node:path';
import { buildIfStaleOrExit, ROOT } from './build-if-stale.mjs';

const ENV_FILE = join(ROOT, '.env');

/**
 * Runs a program of the build with the settings of `.env`. The environment's variables take
 * precedence. The program runs in this process, so that it receives signals and sets the exit code.
 *
 * @param {string} program relative to this folder
 */
export async function runBuilt(program) {
  buildIfStaleOrExit();
  loadEnvFile();
  process.setSourceMapsEnabled(true);
  await import(program);
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
