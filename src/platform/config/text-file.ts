import { isUtf8 } from 'node:buffer';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { StartError } from '../errors/start-error.js';

const ENV_FILE = fileURLToPath(new URL('../../../.env', import.meta.url));
const EXAMPLE = `${ENV_FILE}.example`;

/**
 * Returns the text of a file in UTF-8, without a byte order mark.
 *
 * @throws StartError for a file that cannot be read, is in another encoding, or contains NUL
 */
export function readTextFile(path: string): string {
  try {
    const bytes = readFileSync(path);
    if (isUtf8(bytes) && !bytes.includes(0)) return new TextDecoder().decode(bytes);
  } catch (error) {
    throw new StartError(`${path} cannot be read: ${(error as Error).message}`);
  }
  throw new StartError(`${path} is not text in UTF-8`);
}

/** Returns a text without the line end at its end, which editors and `echo` add. */
export const withoutLineEnd = (text: string): string => text.replace(/\r?\n$/, '');

/** Returns the variables without a line end at the end of their values, such as those of a Secret. */
export function withoutLineEnds(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const entries = Object.entries(environment);
  return Object.fromEntries(entries.map(([name, value]) => [name, value && withoutLineEnd(value)]));
}

/**
 * Prepares the variables of the process: adds those of the project's `.env`, and removes a line end at
 * the end of each, because packages read some of them, such as PGPASSWORD.
 *
 * @throws StartError as readTextFile does
 */
export function prepareEnvironment(): void {
  loadEnvFile();
  Object.assign(process.env, withoutLineEnds(process.env));
}

/**
 * Adds the variables of the project's `.env` that the environment does not have. Reports those that
 * `.env.example` does not list. A package may read them.
 */
function loadEnvFile(): void {
  if (!existsSync(ENV_FILE)) return;
  const example = existsSync(EXAMPLE) ? readTextFile(EXAMPLE) : undefined;
  for (const [name, value] of Object.entries(parseEnv(readTextFile(ENV_FILE)))) {
    process.env[name] ??= value;
    if (!example || ['\n', '\n# '].some((start) => example.includes(`${start}${name}=`))) continue;
    console.error(`${ENV_FILE}: .env.example does not list ${name}`);
  }
}
