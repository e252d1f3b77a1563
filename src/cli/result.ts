import { pipeline } from 'node:stream/promises';
import { StringDecoder } from 'node:string_decoder';
import { promisify } from 'node:util';
import { printable, UNPRINTABLE } from '../platform/commands/printable.js';
import { describeCause } from '../platform/logging/error-details.js';
import { jsonText } from '../platform/http/response/json-text.js';

/**
 * Prints an object or a list, as text or as JSON, or the parts of a text. Undefined prints nothing.
 *
 * @throws Error if it cannot be written, unless the reader, such as `head`, needs no more
 */
export async function printResult(result: object | undefined, json?: true): Promise<void> {
  if (result === undefined) return;
  const written =
    Symbol.asyncIterator in result
      ? printParts(result as AsyncIterable<string | Buffer>)
      : print(`${json ? printableJson(result) : resultText(result)}\n`);
  await written.catch((cause: unknown) => {
    if ('key' in result) {
      const { id } = result as { id?: bigint };
      const problem = `The new API key ${id} cannot be printed (${describeCause(cause)}).`;
      throw new Error(`${problem} Revoke it, because it is lost.`, { cause });
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

function printableJson(result: object): string {
  return jsonText(result).replace(UNPRINTABLE, escaped);
}

/** Returns a character as JSON escapes it. */
function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** The steps to fit a table into 80 columns: omit a column, or shorten texts to a length. */
const STEPS = ['revokedAt', 'createdAt', 'plan', 16, 'hint', 12, 'expiresAt'];
const SHORTENED = ['owner', 'note', 'name'];
const MAX_TEXT = 24;
/** An object of the audit trail can have 20,000 ids. */
const MAX_OBJECT = 240;

/** Returns an object as one line for each property, with the names of JSON, and a list as a table. */
function resultText(result: object): string {
  if (!Array.isArray(result)) return aligned(Object.entries(result).flatMap(linesOf));
  const items = result as Record<string, unknown>[];
  if (!items[0]) return 'None.';
  let names = Object.keys(items[0]).filter((name) => items.some((item) => item[name] !== null));
  let maxText = MAX_TEXT;
  const cell = (item: Record<string, unknown>, name: string) =>
    shortText(item[name], SHORTENED.includes(name) ? maxText : MAX_TEXT);
  const table = () =>
    aligned([names, ...items.map((item) => names.map((name) => cell(item, name)))]);
  const isWide = () => /.{81}/.test(table());
  const complete = table();
  for (const step of STEPS) {
    if (!isWide()) return table();
    if (typeof step === 'number') maxText = step;
    else names = names.filter((name) => name !== step);
  }
  return isWide() ? complete : table();
}

/** Returns the row of a property, and one more for each further object of a list. */
function linesOf([name, value]: [string, unknown]): unknown[][] {
  const window = windowOf(value);
  if (window) {
    const { resetsAt } = value as { resetsAt?: Date | null };
    const reset = resetsAt ? `resets at ${cellText(resetsAt)}` : 'starts with the next request';
    return [[name, `${window}, ${reset}`]];
  }
  if (!Array.isArray(value) || typeof value[0] !== 'object') return [[name, value]];
  return value.map((item: unknown, index) => [index === 0 ? name : '', item]);
}

/** Returns the use of a rate limit window as text, or undefined for another value. */
function windowOf(value: unknown): string | undefined {
  const { used, limit } = (value ?? {}) as { used?: number; limit?: number };
  return used === undefined ? undefined : `${used} of ${limit}`;
}

function aligned(table: readonly unknown[][]): string {
  const rows = table.map((row) => row.map(cellText));
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const widths = rows[0]?.map((_, column) => width(column)) ?? [];
  const line = (row: string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
  return rows.map((row) => line(row).join('  ').trimEnd()).join('\n');
}

/** Returns a date as a day, a rate limit window as its use, and others with a maximum length. */
function shortText(value: unknown, maxLength: number): unknown {
  if (value instanceof Date) return cellText(value).slice(0, 10);
  const window = windowOf(value);
  if (window) return window;
  const isObject = typeof value === 'object' && value !== null;
  const text = isObject ? cellText(value) : value;
  const length = isObject ? MAX_OBJECT : maxLength;
  if (typeof text !== 'string' || text.length <= length) return value;
  return `${text.slice(0, length - 1)}…`;
}

/** Returns, for example, `-`, `2026-11-20T10:00:00Z` or `{"used":3}`. */
function cellText(value: unknown): string {
  if (value instanceof Date) return value.toISOString().replace(/\.\d+/, '');
  if (Array.isArray(value)) return value.map(cellText).join(', ') || '-';
  return typeof value === 'string' ? printable(value) : value === null ? '-' : jsonText(value);
}
