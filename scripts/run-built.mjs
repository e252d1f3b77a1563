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
  await import(program);
}

/** Adds the variables of `.env` to the environment, which takes precedence. */
export function loadEnvFile() {
  try {
    process.loadEnvFile(ENV_FILE);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'ENOENT') return;
    process.stderr.write(`${ENV_FILE} cannot be read: ${message}\n`);
    process.exit(1);
  }
  // The file also contains names that features and packages read, so an unknown one is no error.
  const text = existsSync(EXAMPLE) ? readFileSync(EXAMPLE, 'utf8') : '';
  const listed = Array.from(text.matchAll(/^(?:# )?(\w+)=/gm), ([, name = '']) => name);
  const unlisted = Object.keys(parseEnv(readFileSync(ENV_FILE, 'utf8')))
    .filter((name) => listed.length > 0 && !listed.includes(name))
    .sort()
    .map((name) => {
      const [nearest = ''] = listed.sort((a, b) => distance(name, a) - distance(name, b));
      return distance(name, nearest) > name.length / 3
        ? name
        : `${name} (did you mean ${nearest}?)`;
    });
  if (unlisted.length === 0) return;
  process.stderr.write(`${ENV_FILE}: .env.example does not list ${unlisted.join(', ')}\n`);
}

/** @param {string} a @param {string} b @returns {number} letters to add, remove or replace (Levenshtein) */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...a].entries()) {
    const above = row;
    row = [index + 1];
    for (const [column, other] of [...b].entries()) {
      const replaced = (above[column] ?? 0) + Number(letter !== other);
      row.push(Math.min(replaced, (above[column + 1] ?? 0) + 1, (row[column] ?? 0) + 1));
    }
  }
  return row.at(-1) ?? 0;
}
