import { pipeline } from 'node:stream/promises';
import { StringDecoder } from 'node:string_decoder';
import { promisify } from 'node:util';
import type { CommandOptions } from './command.decorator.js';
import { UNPRINTABLE } from './printable.js';
import { describeCause } from '../errors/error-details.js';
import { jsonText } from '../http/response/json-text.js';
import { propertiesText, tableText } from './table.js';

/**
 * Prints an object or a list, as text or as JSON, or the parts of a text. Undefined prints nothing.
 *
 * @throws Error if it cannot be written, unless the reader, such as `head`, needs no more and the command
 *   has nothing to say about it
 */
export async function printResult(
  result: object | undefined,
  { fit, asText = (shown: object) => shown, ifUnprinted }: CommandOptions,
  json?: true,
): Promise<void> {
  if (result === undefined) return;
  const written =
    Symbol.asyncIterator in result
      ? printParts(result as AsyncIterable<string | Buffer>)
      : print(`${json ? printableJson(result) : textOf(asText(result as never), fit)}\n`);
  await written.catch((cause: unknown) => {
    if (ifUnprinted) {
      const problem = `The result cannot be printed (${describeCause(cause)}).`;
      throw new Error(`${problem} ${ifUnprinted(result as never)}`, { cause });
    }
    // The reader, such as `head`, needs no more.
    if ((cause as NodeJS.ErrnoException).code !== 'EPIPE') throw cause;
  });
}

const print = promisify((text: string, done: (error?: Error | null) => void) =>
  process.stdout.write(text, done),
);

/** Prints the parts as they are, but on a terminal without characters that change what it shows. */
function printParts(parts: AsyncIterable<string | Buffer>): Promise<void> {
  const shown = process.stdout.isTTY ? escapedParts(parts) : parts;
  return pipeline(shown, process.stdout, { end: false });
}

async function* escapedParts(parts: AsyncIterable<string | Buffer>): AsyncIterable<string> {
  // A part can end within a character.
  const decoder = new StringDecoder();
  for await (const part of parts) {
    const text = typeof part === 'string' ? part : decoder.write(part);
    yield text.replace(UNPRINTABLE, (character) =>
      /[\t\n\r]/.test(character) ? character : escaped(character),
    );
  }
}

function textOf(result: object, fit?: CommandOptions['fit']): string {
  if (!Array.isArray(result)) return propertiesText(result);
  return result.length === 0 ? 'None.' : tableText(result as Record<string, unknown>[], fit);
}

function printableJson(result: object): string {
  return jsonText(result).replace(UNPRINTABLE, escaped);
}

/** Returns a character as JSON escapes it. */
function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
