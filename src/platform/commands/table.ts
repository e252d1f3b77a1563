import { printable } from './printable.js';
import { jsonText } from '../http/response/json-text.js';

const MAX_WIDTH = 80;
const MAX_TEXT = 24;
/** An object of the audit trail can have 20,000 ids. */
const MAX_OBJECT = 240;
const SHORTEN = [16, 12];

/**
 * Returns a list as a table with the names of JSON. Omits columns that have no value, and shortens texts.
 *
 * @param fit while the table is wider than 80 characters, each step omits a column, or shortens texts to a
 *   length. If it stays wider, none of them is taken
 */
export function tableText(
  items: readonly Readonly<Record<string, unknown>>[],
  fit: readonly (string | number)[] = SHORTEN,
): string {
  let names = Object.keys(items[0] ?? {}).filter((name) =>
    items.some((item) => item[name] !== null),
  );
  let maxText = MAX_TEXT;
  const draw = () => {
    const rows = items.map((item) => names.map((name) => shortText(item[name], maxText)));
    return aligned([names, ...rows]);
  };
  const complete = draw();
  let table = complete;
  for (const step of fit) {
    if (!isWide(table)) return table;
    if (typeof step === 'number') maxText = step;
    else names = names.filter((name) => name !== step);
    table = draw();
  }
  return isWide(table) ? complete : table;
}

/** Returns an object as one line for each property, and lists of objects as tables after them. */
export function propertiesText(object: object): string {
  const entries: [string, unknown][] = Object.entries(object);
  const isTable = ([, value]: [string, unknown]) =>
    Array.isArray(value) && typeof value[0] === 'object';
  const lines = entries
    .filter((entry) => !isTable(entry))
    .map(([name, value]) => [name, cellText(value)]);
  const tables = entries
    .filter(isTable)
    .map(([name, rows]) => `\n\n${name}:\n${tableText(rows as Record<string, unknown>[])}`);
  return [aligned(lines), ...tables].join('');
}

/** Returns a time in seconds, such as `2026-11-20T10:00:00Z`. */
export function timeText(time: Date): string {
  return time.toISOString().replace(/\.\d+/, '');
}

function isWide(table: string): boolean {
  return table.split('\n').some((line) => line.length > MAX_WIDTH);
}

function aligned(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries())
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)));
  return lines.map((cells) => cells.join('  ').trimEnd()).join('\n');
}

/** Returns a value for a table: a date as a day, and others with a maximum length. */
function shortText(value: unknown, maxText: number): string {
  const text = cellText(value);
  if (value instanceof Date) return text.slice(0, 10);
  if (typeof value !== 'string' && typeof value !== 'object') return text;
  const length = typeof value === 'string' ? maxText : MAX_OBJECT;
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

/** Returns, for example, `-`, `2026-11-20T10:00:00Z` or `{"used":3}`. */
function cellText(value: unknown): string {
  if (value instanceof Date) return timeText(value);
  if (Array.isArray(value)) return value.map(cellText).join(', ') || '-';
  return typeof value === 'string' ? printable(value) : value === null ? '-' : jsonText(value);
}
