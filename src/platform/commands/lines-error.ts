/** A failure of a command that is printed as several lines, such as one for each invalid line of a file. */
export class LinesError extends Error {
  constructor(lines: readonly string[], cause?: unknown) {
    super(lines.map((line) => line.replaceAll('\n', ' ')).join('\n'), { cause });
  }
}
