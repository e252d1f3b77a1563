import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';

/** Bounds the memory for a file. */
export const MAX_LINE_BYTES = 1_048_576;
/** The transaction of an import stays open while it waits for input. */
const MAX_PAUSE_MS = 600_000;
export const TOO_LONG = `is longer than ${MAX_LINE_BYTES} bytes`;

const NOT_UTF8 =
  'is not text in UTF-8. Save the file in a spreadsheet as "CSV UTF-8", or set its encoding, such as --encoding windows-1252. Nothing was stored.';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EISDIR: 'is a directory',
  EACCES: 'cannot be read by this user (EACCES)',
};

/** The character of each byte. Without `stream`, Node.js 20 decodes them as ISO-8859-1. */
const WINDOWS_1252 = new TextDecoder('windows-1252').decode(
  Uint8Array.from({ length: 256 }, (_, byte) => byte),
  { stream: true },
);

/** Returns whether text looks like text in UTF-8 that was read as windows-1252, such as `JÃ¶rg`. */
export function isMisread(text: string): boolean {
  const bytes = Array.from(text, (character) => WINDOWS_1252.indexOf(character));
  return !bytes.includes(-1) && bytes.some((byte) => byte > 127) && isUtf8(Uint8Array.from(bytes));
}

/** A line after which the file cannot be read. */
export class UnreadableLine extends Error {
  constructor(line: number, problem: string, cause?: unknown) {
    super(`line ${line} ${problem}`, { cause });
  }
}

/**
 * Yields the text of a file, several whole lines at once, without a byte order mark at its start.
 *
 * @param path `-`: standard input
 * @param encoding a name of the WHATWG standard
 * @throws Error if the file cannot be read or has another encoding; UnreadableLine for a line that is too long
 */
export async function* textBlocks(
  path: string,
  encoding = 'utf-8',
): AsyncGenerator<string, undefined> {
  const isText = (bytes: Buffer) => isUtf8(bytes) && !bytes.includes(0);
  const decoder = new TextDecoder();
  let count = 0;
  const textOf = (block: Buffer): string => {
    const lines = block.toString('latin1').split(/\r\n?|\n/);
    if (!isText(block)) {
      const wrong = lines.findIndex((line) => !isText(Buffer.from(line, 'latin1')));
      throw new Error(`Line ${count + wrong + 1} ${NOT_UTF8}`);
    }
    count += lines.length - 1;
    return decoder.decode(block, { stream: true });
  };
  let rest = Buffer.alloc(0);
  const source = bytesOf(path);
  for await (const chunk of encoding === 'utf-8' ? source : utf8Of(source, encoding)) {
    const bytes = Buffer.concat([rest, chunk]);
    let end = bytes.lastIndexOf('\n') + 1;
    // Old spreadsheets end lines with CR alone. The last byte may be the CR of a CRLF.
    if (bytes.length - end > MAX_LINE_BYTES) end = bytes.subarray(0, -1).lastIndexOf('\r') + 1;
    if (end > 0) yield textOf(bytes.subarray(0, end));
    rest = bytes.subarray(end);
    if (rest.length > MAX_LINE_BYTES) throw new UnreadableLine(count + 1, TOO_LONG);
  }
  if (rest.length > 0) yield textOf(rest);
  return undefined;
}

/** Yields text of another encoding in UTF-8. @throws Error if it is not in this encoding */
async function* utf8Of(source: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  const decoded = (chunk?: Buffer) => {
    try {
      return Buffer.from(decoder.decode(chunk, { stream: chunk !== undefined }));
    } catch (cause) {
      throw new Error(`The file is not text in ${encoding}. Nothing was stored.`, { cause });
    }
  };
  for await (const chunk of source) yield decoded(chunk);
  yield decoded();
}

/** Yields the bytes of a file, or of standard input for `-`. @throws Error if it cannot be read */
async function* bytesOf(path: string): AsyncGenerator<Buffer, undefined> {
  const stream = path === '-' ? process.stdin : createReadStream(path);
  const paused = new Error(`The input has paused for more than ${MAX_PAUSE_MS / 60_000} minutes.`);
  const limit = setTimeout(() => stream.destroy(paused), MAX_PAUSE_MS).unref();
  try {
    for await (const chunk of stream) {
      yield chunk as Buffer;
      limit.refresh();
    }
  } catch (cause) {
    if (cause === paused) throw paused;
    const { code = '' } = cause as NodeJS.ErrnoException;
    const reason = REASONS[code] ?? `cannot be read (${code})`;
    throw new Error(`The file "${path}" ${reason}.`, { cause });
  } finally {
    clearTimeout(limit);
  }
  return undefined;
}
