/** A line of the service's log. */
export type LogLine = Record<string, unknown> & { msg?: string };

/** What a service has printed so far. */
export interface Output {
  text: string;
  onChange: Set<() => void>;
}

export function newOutput(): Output {
  return { text: '', onChange: new Set() };
}

/** @param line without its end */
export function addOutput(output: Output, line: string): void {
  output.text += `${line}\n`;
  for (const notify of output.onChange) notify();
}

/** Returns the lines of the log that the text holds. */
export function logLines(text: string): LogLine[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as LogLine);
}

/** Returns the first log line, already written or to come, that the condition holds for. */
export function waitForLog(
  output: Output,
  condition: (line: LogLine) => boolean,
): Promise<LogLine> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      output.onChange.delete(look);
      reject(new Error(`no such log line in:\n${output.text}`));
    }, 20_000);
    const look = (): void => {
      const line = logLines(output.text).find(condition);
      if (!line) return;
      clearTimeout(timer);
      output.onChange.delete(look);
      resolve(line);
    };
    output.onChange.add(look);
    look();
  });
}
