import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { parseJson, ServiceError } from '#platform';

/** Bounds the memory for a file. */
const MAX_LINE_BYTES = 1_048_576;
const TOO_LONG = `is longer than ${MAX_LINE_BYTES} bytes`;
const NO_ARRAY =
  'A JSON array is not supported. Write one JSON object per line, without brackets or commas between them.';
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

export const PROPERTIES: readonly string[] = ['name', 'categoryId', 'status'];

/** The columns of a property. The first one that is not empty counts. */
export type ColumnMap = Readonly<Record<string, readonly string[]>>;

/** A line after which the file cannot be read. */
export class UnreadableLine extends Error {
  constructor(line: number, problem: string, cause?: unknown) {
    super(`line ${line} ${problem}`, { cause });
  }
}

/** The number of a line in the file, and a function that reads it. It throws a ServiceError. */
export type FileLine = readonly [line: number, read: () => unknown];

/** A file in UTF-8 with animals: CSV (RFC 4180) with a header line, or a JSON object per line. */
export class AnimalFile {
  /** Columns of CSV that are not read. */
  ignoredColumns: readonly string[] = [];

  /** @param path `-`: standard input */
  constructor(
    private readonly path: string,
    private readonly map: ColumnMap = {},
    private readonly delimiter = ',',
  ) {}

  /** @throws Error if the file cannot be read, is not UTF-8 or not CSV, or lacks a column */
  async *lines(): AsyncGenerator<FileLine> {
    const blocks = textBlocks(bytesOf(this.path));
    const { value: first = '' } = await blocks.next();
    async function* all() {
      yield first;
      yield* blocks;
    }
    const isJson = /\.(?:ndjson|jsonl)$/i.test(this.path) || /^\s*\{/.test(first);
    if (/^\s*\[/.test(first)) throw new Error(NO_ARRAY);
    yield* isJson ? this.jsonLines(all()) : this.csvLines(all());
  }

  private async *jsonLines(blocks: AsyncIterable<string>): AsyncGenerator<FileLine> {
    let line = 0;
    for await (const block of blocks) {
      for (const text of block.replace(/\n$/, '').split('\n')) {
        line++;
        if (text.trim()) yield [line, () => this.renamed(parseJson(Buffer.from(text)))];
      }
    }
  }

  private renamed(values: unknown): unknown {
    const columns = Object.values(this.map).flat();
    if (columns.length === 0 || !(values instanceof Object) || Array.isArray(values)) return values;
    const others = Object.entries(values).filter(([name]) => !columns.includes(name));
    const object = values as Record<string, unknown>;
    return { ...Object.fromEntries(others), ...pick(this.map, (column) => object[column]) };
  }

  private async *csvLines(blocks: AsyncIterable<string>): AsyncGenerator<FileLine> {
    let next = 1;
    const parser = parse({
      delimiter: this.delimiter,
      record_delimiter: ['\r\n', '\n', '\r'],
      max_record_size: MAX_LINE_BYTES,
      relax_column_count: true,
      skip_empty_lines: true,
      on_record: (cells: string[], { empty_lines }) => {
        const line = next + empty_lines;
        // csv-parse counts a CRLF in quotes as two lines.
        next += 1 + (cells.join('|').match(/\r\n?|\n/g)?.length ?? 0);
        return [String(line), ...cells];
      },
    });
    const records = pipeline(Readable.from(blocks), parser, () => undefined);
    let read: ((cells: readonly string[]) => unknown) | undefined;
    try {
      for await (const [line, ...cells] of records as AsyncIterable<string[]>) {
        if (read) yield [Number(line), read.bind(this, cells)];
        else read = this.readerOf(cells);
      }
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      const isLong = error.code === 'CSV_MAX_RECORD_SIZE';
      const problem = isLong ? TOO_LONG : 'has a quotation mark that is misplaced or not closed';
      throw new UnreadableLine(next + parser.info.empty_lines, problem, error);
    }
  }

  /** Returns a function that reads a record. @throws Error for a missing or repeated column */
  private readerOf(header: readonly string[]) {
    const isNamed = (name: string) => header.some((column) => column.trim().toLowerCase() === name);
    const own = PROPERTIES.filter((name) => name !== 'status' || isNamed(name));
    const map = { ...Object.fromEntries(own.map((name) => [name, [name]])), ...this.map };
    const used = Object.values(map).flat();
    for (const column of used) {
      if (header.filter((name) => name === column).length === 1) continue;
      throw new Error(
        `The header line must have one column ${column}. It is: ${header.join(this.delimiter).slice(0, 300)}. Set --map or --delimiter.`,
      );
    }
    this.ignoredColumns = header.filter((name) => !used.includes(name));
    return (cells: readonly string[]) => {
      if (cells.length !== header.length) {
        const message = `has ${cells.length} cells instead of ${header.length}`;
        throw new ServiceError('invalid_request', message);
      }
      const values = pick(map, (column) => cells[header.indexOf(column)]);
      const id = String(values['categoryId']);
      return NUMBER.test(id) ? { ...values, categoryId: parseJson(Buffer.from(id)) } : values;
    };
  }
}

/** Returns the first value of each property that is not empty. */
function pick(map: ColumnMap, valueOf: (column: string) => unknown): Record<string, unknown> {
  const isEmpty = (value: unknown) =>
    typeof value === 'string' ? value.trim() === '' : (value ?? null) === null;
  const entries = Object.entries(map).map(([property, columns]) => {
    return [property, columns.map(valueOf).find((value) => !isEmpty(value))] as const;
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** Yields the bytes of a file, or of standard input for `-`. @throws Error if it cannot be read */
async function* bytesOf(path: string): AsyncGenerator<Buffer, undefined> {
  try {
    yield* path === '-' ? process.stdin : createReadStream(path);
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    throw new Error(`The file ${path} cannot be read (${code}).`, { cause });
  }
  return undefined;
}

/** Yields whole lines, several at once. @throws Error for a line that is too long or not UTF-8 */
async function* textBlocks(input: AsyncIterable<Buffer>): AsyncGenerator<string, undefined> {
  const isText = (bytes: Buffer) => isUtf8(bytes) && !bytes.includes(0);
  const decoder = new TextDecoder();
  let count = 0;
  const textOf = (block: Buffer): string => {
    const lines = block.toString('latin1').split('\n');
    if (!isText(block)) {
      const wrong = lines.findIndex((line) => !isText(Buffer.from(line, 'latin1')));
      throw new UnreadableLine(count + wrong + 1, 'is not text in UTF-8');
    }
    count += lines.length - 1;
    // Without a byte order mark at the start of the file.
    return decoder.decode(block, { stream: true });
  };
  let rest = Buffer.alloc(0);
  for await (const chunk of input) {
    const bytes = Buffer.concat([rest, chunk]);
    const end = bytes.lastIndexOf('\n') + 1;
    if (end > 0) yield textOf(bytes.subarray(0, end));
    rest = bytes.subarray(end);
    if (rest.length > MAX_LINE_BYTES) throw new UnreadableLine(count + 1, TOO_LONG);
  }
  if (rest.length > 0) yield textOf(rest);
  return undefined;
}
