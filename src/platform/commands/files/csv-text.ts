/** Returns a record of CSV that an import or an update reads. A missing value is an empty cell. */
export function csvRecord(
  cells: readonly (string | null)[],
  delimiter = ',',
  lineEnd = '\n',
): string {
  const quoted = cells.map((cell) =>
    cell !== null && (cell.includes(delimiter) || /[",;|\t\r\n]/.test(cell))
      ? `"${cell.replaceAll('"', '""')}"`
      : cell,
  );
  return quoted.join(delimiter) + lineEnd;
}
