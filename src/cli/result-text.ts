import { jsonText } from '../platform/http/response/json-text.js';

/** Returns a list as a table, and an object as one line for each property, with the names of JSON. */
export function resultText(result: object): string {
  if (!Array.isArray(result)) return aligned(Object.entries(result));
  const items = result as object[];
  if (!items[0]) return 'None.';
  return aligned([Object.keys(items[0]), ...items.map((item): unknown[] => Object.values(item))]);
}

function aligned(rows: readonly (readonly unknown[])[]): string {
  const lines = rows.map((row) => row.map(cellText));
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => lengthOf(line[column] ?? ''))),
  );
  const padded = (cell: string, column: number) =>
    cell + ' '.repeat((widths[column] ?? 0) - lengthOf(cell));
  return lines.map((line) => line.map(padded).join('  ').trimEnd()).join('\n');
}

/** Returns, for example, `-`, `2026-11-20T10:00:00Z` or `{"used":3}`. */
function cellText(value: unknown): string {
  if (value instanceof Date) return value.toISOString().replace(/\.\d+/, '');
  if (value === null || (Array.isArray(value) && value.length === 0)) return '-';
  if (Array.isArray(value)) return value.map(cellText).join(', ');
  return typeof value === 'string' ? value : jsonText(value);
}

function lengthOf(text: string): number {
  return [...text].length;
}
