// @ts-check
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { buildIfStaleOrExit, ROOT } from './build-if-stale.mjs';

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
  await import(program).catch(rejectInstallation);
}

/**
 * Ends the process with one line if a package is missing.
 *
 * @param {Error} error @throws any other error
 */
function rejectInstallation(error) {
  const [line = ''] = error.message.split('\n');
  if (!/^Cannot find (?:package|module '[^./])/.test(line)) throw error;
  process.stderr.write(`Packages are missing: ${line}. Run \`npm ci\`.\n`);
  process.exit(1);
}

/**
 * Adds the variables of `.env` to the environment, which takes precedence. Reports those that
 * `.env.example` does not list, with the nearest name that it lists.
 */
export function loadEnvFile() {
  try {
    process.loadEnvFile(ENV_FILE);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'ENOENT') return;
    process.stderr.write(`${ENV_FILE} cannot be read: ${message}\n`);
    process.exit(1);
  }
  if (!existsSync(EXAMPLE)) return;
  const listing = readFileSync(EXAMPLE, 'utf8').matchAll(/^(?:# )?(\w+)=/gm);
  const listed = Array.from(listing, ([, name = '']) => name);
  const unlisted = Object.keys(parseEnv(readFileSync(ENV_FILE, 'utf8')))
    .filter((name) => !listed.includes(name))
    .sort()
    .map((name) => {
      const near = [1, 2].map((letters) => listed.find((each) => isNear(name, each, letters)));
      const nearest = near.find(Boolean);
      return nearest === undefined ? name : `${name} (did you mean ${nearest}?)`;
    });
  // A package may read such a name, so it is no error.
  if (unlisted.length === 0) return;
  process.stderr.write(`${ENV_FILE}: .env.example does not list ${unlisted.join(', ')}\n`);
}

/**
 * Returns whether adding, removing or replacing so many letters at most makes the names equal.
 *
 * @param {string} a @param {string} b @param {number} letters @returns {boolean}
 */
function isNear(a, b, letters) {
  const [restOfA, restOfB] = [a.slice(1), b.slice(1)];
  if (a.at(0) === b.at(0)) return a === b || isNear(restOfA, restOfB, letters);
  const pairs = /** @type {const} */ ([
    [restOfA, b],
    [a, restOfB],
    [restOfA, restOfB],
  ]);
  return letters > 0 && pairs.some(([x, y]) => isNear(x, y, letters - 1));
}
