import { jsonText } from '../platform/http/response/json-text.js';

/** Returns a list as a table, and an object as one line for each property, with the names of JSON. */
export function resultText(result: object): string {
  if (!Array.isArray(result)) return aligned(Object.entries(result));
  const items = result as object[];
  if (!items[0]) return 'None.';
  return aligned([Object.keys(items[0]), ...items.map((item): unknown[] => Object.values(item))]);
}

function aligned(table: readonly unknown[][]): string {
  const rows = table.map((row) => row.map(cellText));
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const widths = rows[0]?.map((_, column) => width(column)) ?? [];
  const line = (row: string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
  return rows.map((row) => line(row).join('  ').trimEnd()).join('\n');
}

/** Returns, for example, `-`, `2026-11-20T10:00:00Z` or `{"used":3}`. */
function cellText(value: unknown): string {
  if (value instanceof Date) return value.toISOString().replace(/\.\d+/, '');
  if (Array.isArray(value)) return value.map(cellText).join(', ') || '-';
  return typeof value === 'string' ? value : value === null ? '-' : jsonText(value);
}
