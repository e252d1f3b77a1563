import { jsonText } from '../platform/http/response/json-text.js';

/**
 * Returns a result as text with the names of its JSON: a list as a table with one line for each
 * item, an object with one line for each property and item of a list.
 *
 * @param columns of the terminal: a wider table becomes one block of lines for each item
 */
export function resultText(result: object, columns = Infinity): string {
  if (!Array.isArray(result)) return alignedLines(Object.entries(result).flatMap(propertyRows));
  const items = result as object[];
  const [first] = items;
  if (!first) return 'None.\n';
  const rows = items.map((item): unknown[] => Object.values(item));
  const table = alignedLines([Object.keys(first), ...rows]);
  if (table.split('\n').every((line) => lengthOf(line) <= columns)) return table;
  return items.map((item) => alignedLines(Object.entries(item))).join('\n');
}

/** Returns one row, or one for each item of a list. */
function propertyRows([name, value]: [string, unknown]): unknown[][] {
  if (!Array.isArray(value) || value.length === 0) return [[name, value]];
  return value.map((item: unknown, index) => [index === 0 ? name : '', item]);
}

function alignedLines(rows: readonly (readonly unknown[])[]): string {
  const lines = rows.map((row) => row.map(cellText));
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => lengthOf(line[column] ?? ''))),
  );
  const padded = (cell: string, column: number) =>
    cell + ' '.repeat((widths[column] ?? 0) - lengthOf(cell));
  return lines.map((line) => `${line.map(padded).join('  ').trimEnd()}\n`).join('');
}

/** Returns, for example, `-`, `2026-11-20T10:00:00Z` or `keyId 1, plan pro`. */
function cellText(value: unknown): string {
  if (value instanceof Date) return value.toISOString().replace(/\.\d+/, '');
  if (Array.isArray(value)) return value.map(cellText).join(', ') || '-';
  if (value === null) return '-';
  if (!isObject(value)) return typeof value === 'string' ? value : jsonText(value);
  const members = Object.entries(value).map(([name, member]) =>
    isObject(member) ? `${name} (${cellText(member)})` : `${name} ${cellText(member)}`,
  );
  return members.join(', ') || '-';
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(value instanceof Date);
}

function lengthOf(text: string): number {
  return [...text].length;
}
