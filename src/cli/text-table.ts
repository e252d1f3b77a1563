/** A value in a cell of a table. */
export type Cell = string | number | bigint | Date | null;

/** Returns the headings and the rows, one line each, with aligned columns. */
export function textTable(headings: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const lines = [headings, ...rows.map((row) => row.map(cellText))];
  const widths = headings.map((_, column) =>
    Math.max(...lines.map((line) => lengthOf(line[column] ?? ''))),
  );
  return lines.map((line) => alignedLine(line, widths)).join('');
}

/** Returns names and values, one line each, with aligned values. */
export function textList(entries: readonly (readonly [name: string, value: Cell])[]): string {
  const width = Math.max(...entries.map(([name]) => lengthOf(name)));
  return entries.map(([name, value]) => alignedLine([name, cellText(value)], [width])).join('');
}

/** Returns a time to the second, in UTC. */
export function timeText(time: Date): string {
  return time.toISOString().replace(/\.\d+/, '');
}

function cellText(cell: Cell): string {
  if (cell === null) return '-';
  return cell instanceof Date ? timeText(cell) : String(cell);
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
