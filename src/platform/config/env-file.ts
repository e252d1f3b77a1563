import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { readTextFile, withoutLineEnds } from './text-file.js';

/**
 * Prepares the variables of the process: adds those of the project's `.env`, and removes a line end at
 * the end of each, because packages read some of them, such as PGPASSWORD.
 *
 * @param folder of the project
 * @throws StartError as readTextFile does
 */
export function prepareEnvironment(folder: string): void {
  loadEnvFile(join(folder, '.env'));
  Object.assign(process.env, withoutLineEnds(process.env));
}

/**
 * Adds the variables of the project's `.env` that the environment does not have. Reports those that
 * `.env.example` does not list. A package may read them.
 */
function loadEnvFile(path: string): void {
  if (!existsSync(path)) return;
  const examplePath = `${path}.example`;
  const example = existsSync(examplePath) ? readTextFile(examplePath) : undefined;
  for (const [name, value] of Object.entries(parseEnv(readTextFile(path)))) {
    process.env[name] ??= value;
    if (!example || ['\n', '\n# '].some((start) => example.includes(`${start}${name}=`))) continue;
    console.error(`${path}: .env.example does not list ${name}`);
  }
}
