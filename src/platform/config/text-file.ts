import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { StartError } from '../errors/start-error.js';

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
