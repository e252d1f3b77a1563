import { PRODUCT } from '../../../src/product.js';
import { HANG_LIMIT_MS } from '../run/until.js';

export type LogLine = Record<string, unknown> & { msg?: string };

export interface Output {
  text: string;
  onChange: Set<() => void>;
  /** Whether an API key was logged. */
  holdsKey: boolean;
}

/** Returns an output to which `addOutput` adds lines. */
export function newOutput(): Output {
  return { text: '', onChange: new Set(), holdsKey: false };
}

/**
 * An API key in a log line, which is forbidden. The welcome text on a terminal shows
 * one.
 */
const LOGGED_KEY = new RegExp(`^\\{.*${PRODUCT.keyPrefix}[0-9A-Za-z]{36}`);

/** @param line without its end */
export function addOutput(output: Output, line: string): void {
  output.text += `${line}\n`;
  output.holdsKey ||= LOGGED_KEY.test(line);
  for (const notify of output.onChange) notify();
}

/**
 * Every service of a test run passes here when it ends.
 *
 * @throws when an API key stands in its log
 */
export function expectNoKey({ holdsKey, text }: Output): void {
  if (holdsKey) throw new Error(`an API key was logged:\n${text}`);
}

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
    }, HANG_LIMIT_MS);
    // A test that waits for the line of one of several services goes on without the others.
    timer.unref();
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
