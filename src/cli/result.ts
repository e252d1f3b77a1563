import { pipeline } from 'node:stream/promises';
import { printable } from '../platform/commands/printable.js';
import { jsonText } from '../platform/http/response/json-text.js';

/** Prints an object or a list, as text or as JSON, or the parts of a text. Undefined prints nothing. */
export async function printResult(result: object | undefined, json?: true): Promise<void> {
  if (result === undefined) return;
  if (Symbol.asyncIterator in result) {
    const written = pipeline(result as AsyncIterable<string | Buffer>, process.stdout, {
      end: false,
    });
    await written.catch((error: unknown) => {
      // The reader, such as `head`, needs no more.
      if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
    });
  } else console.log(json ? jsonText(result) : resultText(result));
}

/** The steps to fit a table into 80 columns: omit a column, or shorten texts to a length. */
const STEPS = ['revokedAt', 'createdAt', 'plan', 16, 'hint', 12, 'expiresAt'];
const SHORTENED = ['owner', 'note', 'name'];
const MAX_TEXT = 24;

/** Returns an object as one line for each property, with the names of JSON, and a list as a table. */
function resultText(result: object): string {
  if (!Array.isArray(result)) return aligned(Object.entries(result));
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

function aligned(table: readonly unknown[][]): string {
  const rows = table.map((row) => row.map(cellText));
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const widths = rows[0]?.map((_, column) => width(column)) ?? [];
  const line = (row: string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
  return rows.map((row) => line(row).join('  ').trimEnd()).join('\n');
}

/** Returns a date as a day, a rate limit window as its use, and other text with a maximum length. */
function shortText(value: unknown, maxLength: number): unknown {
  if (value instanceof Date) return cellText(value).slice(0, 10);
  const { used, limit } = (value ?? {}) as { used?: number; limit?: number };
  if (used !== undefined) return `${used} of ${limit}`;
  if (typeof value !== 'string' || value.length <= maxLength) return value;
  return `${value.slice(0, maxLength - 1)}…`;
}

/** Returns, for example, `-`, `2026-11-20T10:00:00Z` or `{"used":3}`. */
function cellText(value: unknown): string {
  if (value instanceof Date) return value.toISOString().replace(/\.\d+/, '');
  if (Array.isArray(value)) return value.map(cellText).join(', ') || '-';
  return typeof value === 'string' ? printable(value) : value === null ? '-' : jsonText(value);
}
