import { Readable } from 'node:stream';
import { Option } from 'commander';
import { jsonText } from '../../http/response/json-text.js';
import { csvRecord } from '../files/csv-text.js';

/** Returns the option `--csv`. */
export function csvOption(): Option {
  return new Option('--csv', 'print CSV for a spreadsheet').conflicts('json');
}

/** Returns CSV (RFC 4180) with a header line. The cell of null is empty. */
export function csvText(
  names: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
): AsyncIterable<string> {
  const lines = [names, ...rows.map((row) => names.map((name) => cell(row[name])))];
  return Readable.from(lines.map((cells) => csvRecord(cells, ',', '\r\n')));
}

function cell(value: unknown): string | null {
  if (value instanceof Date) return value.toISOString();
  return value === null || typeof value === 'string' ? value : jsonText(value);
}
