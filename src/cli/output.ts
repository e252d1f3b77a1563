import { jsonText } from '../platform/http/response/json-text.js';
import { resultText } from './result-text.js';

/** The option that every command accepts. */
export interface OutputOptions {
  json?: true;
}

/**
 * Prints the result of a command, with --json as one line of JSON. Resolves when it is written,
 * because data in a pipe's buffer is lost at exit.
 */
export function printResult({ json }: OutputOptions, result: object): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(
      json ? `${jsonText(result)}\n` : resultText(result, process.stdout.columns),
      (error) => {
        // EPIPE: the reader, such as `head`, has closed the pipe. This is not a failure.
        if (!error || (error as NodeJS.ErrnoException).code === 'EPIPE') resolve();
        else reject(error);
      },
    );
  });
}

/** Shows the progress if standard error is a terminal. */
export function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
