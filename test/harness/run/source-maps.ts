import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Returns the sources that the source map of a program names and that do not exist. Stacks name these files, and a debugger finds
 * the program of a breakpoint by them.
 *
 * @param file the program
 * @param map its address: a file beside it, or a `data:` URL
 */
export function missingSources(file: string, map: string): string[] {
  const folder = dirname(file);
  const [, base64] = /^data:.*;base64,(.*)$/.exec(map) ?? [];
  const text = base64
    ? Buffer.from(base64, 'base64').toString()
    : readFileSync(resolve(folder, map), 'utf8');
  const { sources } = JSON.parse(text) as { sources: string[] };
  if (sources.length === 0) return [`no source of ${file}`];
  return sources.filter((source) => !existsSync(resolve(folder, source)));
}
