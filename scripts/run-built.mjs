// @ts-check
import { existsSync, readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { parseEnv } from 'node:util';
import { buildIfStaleOrExit, exit, ROOT } from './build-if-stale.mjs';

const ENV_FILE = join(ROOT, '.env');
const EXAMPLE = join(ROOT, '.env.example');

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
  await import(program).catch((/** @type {unknown} */ error) => {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    const [line = ''] = message.split('\n');
    // Node.js 20 also reports a package.json that it cannot open as a missing package, with its path.
    const [, file = ''] = /^Cannot find package '([^']+)'/.exec(line) ?? [];
    if (code === 'EMFILE' || isAbsolute(file)) {
      exit('The limit of open files is too low. Raise it (`ulimit -n 1024`).');
    }
    if (!/^Cannot find (?:package|module '[^./])/.test(line)) throw error;
    exit(`Packages are missing: ${line}. Run \`npm ci\`.`);
  });
}

/** Adds the variables of `.env` to the environment. Reports those that `.env.example` does not list. */
function loadEnvFile() {
  try {
    process.loadEnvFile(ENV_FILE);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'ENOENT') return;
    exit(`${ENV_FILE} cannot be read: ${message}`);
  }
  if (!existsSync(EXAMPLE)) return;
  const listing = readFileSync(EXAMPLE, 'utf8').matchAll(/^(?:# )?(\w+)=/gm);
  const listed = Array.from(listing, ([, name]) => name);
  const names = Object.keys(parseEnv(readFileSync(ENV_FILE, 'utf8')));
  const unlisted = names.filter((name) => !listed.includes(name)).sort();
  // A package may read such a name, so it is no error.
  if (unlisted.length === 0) return;
  process.stderr.write(`${ENV_FILE}: .env.example does not list ${unlisted.join(', ')}\n`);
}
