const RELATIVE = new Intl.RelativeTimeFormat('en');
const UNITS = [
  ['year', 365 * 86_400_000],
  ['month', 30 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/** A value in a cell of a table. */
type Cell = string | number | bigint | Date | null;

/**
 * Returns the headings and the rows, one line each, with aligned columns. On a terminal, times are
 * relative to now.
 */
export function textTable(headings: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const lines = [headings, ...rows.map((row) => row.map((cell) => cellText(cell, tableTime)))];
  const widths = headings.map((_, column) =>
    Math.max(...lines.map((line) => lengthOf(line[column] ?? ''))),
  );
  return lines.map((line) => alignedLine(line, widths)).join('');
}

/** Returns names and values, one line each, with aligned values. */
export function textList(entries: readonly (readonly [name: string, value: Cell])[]): string {
  const width = Math.max(...entries.map(([name]) => lengthOf(name)));
  return entries
    .map(([name, value]) => alignedLine([name, cellText(value, timeText)], [width]))
    .join('');
}

/** Returns a time to the second, in UTC. */
export function timeText(time: Date): string {
  return time.toISOString().replace(/\.\d+/, '');
}

/** Returns, for example, `3 days ago` or `in 2 hours` on a terminal, otherwise the exact time. */
export function tableTime(time: Date): string {
  if (!process.stdout.isTTY) return timeText(time);
  const differenceMs = time.getTime() - Date.now();
  const [unit, lengthMs] = UNITS.find(([, ms]) => Math.abs(differenceMs) >= ms) ?? UNITS[5];
  return RELATIVE.format(Math.round(differenceMs / lengthMs), unit);
}

function cellText(cell: Cell, dateText: (time: Date) => string): string {
  if (cell === null) return '-';
  return cell instanceof Date ? dateText(cell) : String(cell);
}

function alignedLine(cells: readonly string[], widths: readonly number[]): string {
  const padded = cells.map(
    (cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - lengthOf(cell))),
  );
  return `${padded.join('  ').trimEnd()}\n`;
}

function lengthOf(text: string): number {
  return [...text].length;
}
