import { pipeline, Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { MAX_BODY_VALUES } from '../../config/bounds.js';
import { ServiceError } from '../../errors/service-error.js';
import { parseJson } from '../../http/body/parse-json.js';
import { csvRecord } from './csv-text.js';
import { MAX_LINE_BYTES, textBlocks, TOO_LONG, UnreadableLine } from './file-text.js';
import type { RowProperty } from './row-properties.js';

const NO_ARRAY = 'Each object of a JSON array must be on a line of its own.';
const REASON = 'reason';
const MAX_SHOWN = 300;
const DELIMITERS = [',', ';', '\t', '|'] as const;

/** The columns of a property. The first one that is not empty counts. */
export type ColumnMap = Readonly<Record<string, readonly string[]>>;

/** What the texts of a file mean, by property. A text that is not listed is invalid. */
export type ValueMap = Readonly<Record<string, ReadonlyMap<string, string>>>;

/** How to read a file. */
export interface FileOptions {
  map?: ColumnMap | undefined;
  values?: ValueMap | undefined;
  /** By default that of a first line `sep=;`, which Excel writes, or of the header line. */
  delimiter?: string | undefined;
  /** A name of the WHATWG standard. By default UTF-8. */
  encoding?: string | undefined;
}

/** The number of a line in the file, a function that reads it, which throws a ServiceError, and its text. */
export type FileLine = readonly [line: number, read: () => unknown, text: string];

/** A file with rows: CSV (RFC 4180) with a header line, or a JSON object per line, also as an array. */
export class RowFile {
  /** Columns of CSV that are not read. */
  ignoredColumns: readonly string[] = [];
  /** Options that would read columns whose names differ from those of properties only in case. */
  proposedOptions: readonly string[] = [];
  /** Is known when the first line is. */
  isCsv = false;
  /** What stands before the lines with reasons: of CSV, the header line. Is known when the first line is. */
  headerWithReason = '';
  private delimiter = ',';
  private map: ColumnMap;

  /**
   * @param path `-`: standard input
   * @param properties those of a row. Others of JSON are not removed
   * @param options.emptyIsNull an empty cell is null. By default, its row does not have the property
   */
  constructor(
    private readonly path: string,
    private readonly properties: readonly RowProperty[],
    private readonly options: FileOptions & { emptyIsNull?: true } = {},
  ) {
    this.map = options.map ?? {};
  }

  /** @throws Error if the file cannot be read, has another encoding or is not CSV, or lacks a column */
  async *lines(): AsyncGenerator<FileLine> {
    const blocks = textBlocks(this.path, this.options.encoding);
    const { value: first = '' } = await blocks.next();
    async function* all() {
      yield first;
      yield* blocks;
    }
    this.isCsv = !/\.(?:ndjson|jsonl)$/i.test(this.path) && !/^\s*[[{]/.test(first);
    yield* this.isCsv ? this.csvLines(all(), first) : this.jsonLines(all(), first);
  }

  /** Returns the name that a property has in the file. */
  columnOf(property: string): string {
    return this.map[property]?.join(' or ') ?? property;
  }

  /** Returns the text of a line in the form of the file, with the reason why it is invalid. */
  withReason(text: string, reason: string): string {
    if (!this.isCsv) return jsonWithReason(text, reason);
    return `${text}${this.delimiter}${csvRecord([reason], this.delimiter)}`;
  }

  private async *jsonLines(blocks: AsyncIterable<string>, first: string): AsyncGenerator<FileLine> {
    const isArray = /^\s*\[\s*(?:\n|[\]{])/.test(first);
    if (isArray && !/^\s*\[\s*(?:\]|\{.*\},?\s*\]?$)/m.test(first)) throw new Error(NO_ARRAY);
    let line = 0;
    for await (const block of blocks) {
      for (const text of block.replace(/\n$/, '').split('\n')) {
        line++;
        const json = isArray ? text.replace(/^\s*[[,]/, '').replace(/[\],]\s*$/, '') : text;
        const read = () => this.objectOf(parseJson(Buffer.from(json), MAX_BODY_VALUES, 'It'));
        if (json.trim()) yield [line, read, json];
      }
    }
  }

  private objectOf(json: unknown): unknown {
    const values = this.renamed(json);
    if (!(values instanceof Object) || Array.isArray(values)) return values;
    const object = { ...(values as Record<string, unknown>) };
    for (const property of this.properties) {
      const value = object[property.name] ?? undefined;
      if (value !== undefined) object[property.name] = this.meaningOf(property, value);
    }
    return object;
  }

  /** Returns what a value means by `--values`, or the choice that it writes in another case. */
  private meaningOf({ name, choices, parse }: RowProperty, value: unknown): unknown {
    const values = this.options.values?.[name];
    const text = String(value).trim();
    if (values) {
      const meaning = values.get(text);
      if (meaning !== undefined) return parse(meaning);
      const problem = `${this.columnOf(name)} is ${JSON.stringify(text.slice(0, 100))}, which --values does not list`;
      throw new ServiceError('invalid_request', problem);
    }
    if (typeof value !== 'string') return value;
    return choices?.find((choice) => choice.toLowerCase() === text.toLowerCase()) ?? value;
  }

  private renamed(values: unknown): unknown {
    const columns = Object.values(this.map).flat();
    if (columns.length === 0 || !(values instanceof Object) || Array.isArray(values)) return values;
    const others = Object.entries(values).filter(([name]) => !columns.includes(name));
    const object = values as Record<string, unknown>;
    return { ...Object.fromEntries(others), ...pick(this.map, (column) => object[column]) };
  }

  private async *csvLines(blocks: AsyncIterable<string>, first: string): AsyncGenerator<FileLine> {
    const separator = separatorLine(first);
    const delimiter = this.options.delimiter ?? separator ?? headerDelimiter(first);
    this.delimiter = delimiter;
    let isFirst = true;
    let next = 1;
    const parser = parse({
      delimiter,
      record_delimiter: ['\r\n', '\n', '\r'],
      max_record_size: MAX_LINE_BYTES,
      relax_column_count: true,
      skip_empty_lines: true,
      on_record: (cells: string[], { empty_lines }) => {
        const line = next + empty_lines;
        // csv-parse counts a CRLF in quotes as two lines.
        next += 1 + (cells.join('|').match(/\r\n?|\n/g)?.length ?? 0);
        const isSkipped = isFirst ? separator !== undefined : cells.every((cell) => !cell.trim());
        isFirst = false;
        return isSkipped ? null : [String(line), ...cells];
      },
    });
    const records = pipeline(Readable.from(blocks), parser, () => undefined);
    let columns = 0;
    let read: ((cells: readonly string[]) => unknown) | undefined;
    try {
      for await (const [line, ...cells] of records as AsyncIterable<string[]>) {
        if (read) {
          const missing = Array.from({ length: Math.max(columns - cells.length, 0) }, () => '');
          const text = csvRecord([...cells, ...missing], delimiter).slice(0, -1);
          yield [Number(line), read.bind(this, cells), text];
          continue;
        }
        read = this.readerOf(cells);
        columns = cells.length;
        const before = separator === undefined ? '' : `sep=${separator}\n`;
        this.headerWithReason = before + csvRecord([...cells, REASON], delimiter);
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
    const similar = (name: string) =>
      header.find((column) => column.trim().toLowerCase() === name.toLowerCase());
    const own = this.properties.filter(
      ({ name, isRequired }) => isRequired || header.includes(name),
    );
    const map = { ...Object.fromEntries(own.map(({ name }) => [name, [name]])), ...this.map };
    this.map = map;
    for (const [property, columns] of Object.entries(map)) {
      for (const column of columns) {
        const count = header.filter((name) => name === column).length;
        if (count === 1) continue;
        const text = header.join(', ').slice(0, MAX_SHOWN);
        if (count > 1) throw new Error(`Several columns "${column}". The file has: ${text}`);
        const option = `--map ${property}=${similar(property) ?? 'COLUMN'}`;
        throw new Error(`No column "${column}". The file has: ${text}. Map it: ${option}`);
      }
    }
    const used = Object.values(map).flat();
    this.proposedOptions = this.properties.flatMap(({ name }) => {
      const column = name in map ? undefined : similar(name);
      return column === undefined || used.includes(column) ? [] : [`--map ${name}=${column}`];
    });
    this.ignoredColumns = header.filter((name) => !used.includes(name));
    return (cells: readonly string[]) => {
      if (cells.length !== header.length) {
        const message = `has ${cells.length} cells instead of ${header.length}`;
        throw new ServiceError('invalid_request', message);
      }
      const values = pick(map, (column) => cells[header.indexOf(column)]);
      for (const property of this.properties) {
        const { name, parse } = property;
        const cell = values[name];
        if (cell !== undefined) {
          const meaning = this.meaningOf(property, cell);
          values[name] = typeof meaning === 'string' ? parse(meaning) : meaning;
        } else if (this.options.emptyIsNull && name in map) values[name] = null;
      }
      return values;
    };
  }
}

/** Returns a JSON object with a further member. Its others stay as they are. Other text becomes a member. */
function jsonWithReason(text: string, reason: string): string {
  const member = `"${REASON}":${JSON.stringify(reason)}}\n`;
  const [, members] = /^\s*(\{.*)\}\s*$/s.exec(text) ?? [];
  try {
    JSON.parse(text);
  } catch {
    return `{"line":${JSON.stringify(text)},${member}`;
  }
  if (members === undefined) return `{"line":${JSON.stringify(text)},${member}`;
  return `${members}${members.trim() === '{' ? '' : ','}${member}`;
}

/** Returns the separator of a line `sep=;`, which Excel writes and reads before the header. */
function separatorLine(text: string): string | undefined {
  return /^sep=([^\r\n])(?:\r\n?|\n)/i.exec(text)?.[1];
}

/** Returns the delimiter of the header line: a comma, unless it has only others. */
function headerDelimiter(text: string): string {
  const [header = ''] = text.trimStart().split(/[\r\n]/, 1);
  const unquoted = header.replace(/"[^"]*"/g, '');
  return DELIMITERS.find((character) => unquoted.includes(character)) ?? ',';
}

/** Returns the first value of each property that is not empty. */
function pick(map: ColumnMap, valueOf: (column: string) => unknown): Record<string, unknown> {
  const isEmpty = (value: unknown) =>
    typeof value === 'string' ? value.trim() === '' : (value ?? null) === null;
  const entries = Object.entries(map).map(([property, columns]) => {
    const values = columns.map(valueOf);
    const given = values.find((value) => !isEmpty(value));
    return [property, given ?? (values.includes(null) ? null : undefined)] as const;
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
