import { jsonText } from '../http/response/json-text.js';

/** The option that every command takes. */
export interface OutputOptions {
  json?: true;
}

/**
 * Prints the result of a command, as one line of JSON when that was asked for. Resolves when it is
 * written: what is still in a pipe's buffer would be lost at exit.
 */
export function printResult({ json }: OutputOptions, result: object, text: string): Promise<void> {
  return write(process.stdout, json ? `${jsonText(result)}\n` : text);
}

/** Tells a person who watches how far the work is; nothing when nobody does. */
export function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error?: NodeJS.ErrnoException | null) => {
      // Whoever reads has seen enough (`| head`): not a failure of the command.
      if (!error || error.code === 'EPIPE') resolve();
      else reject(error);
    });
  });
}
