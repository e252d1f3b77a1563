// @ts-check
// Reads CSV as RFC 4180 describes it: quoted values, doubled quotes, line ends inside quotes.
// Records may end with CRLF, LF or CR. Anything else that the RFC does not allow is an error with
// the
// line number, because a guess could shift the values of the remaining file into wrong columns.

/**
 * @typedef {object} CsvFormat
 * @property {string | undefined} [delimiter] one character between values; a comma by default
 * @property {string | undefined} [encoding] a label of the WHATWG Encoding Standard; `utf-8` by
 *   default
 *
 * @typedef {{ line: number, values: string[] }} CsvRecord `line` is where the record begins, from 1
 * @typedef {CsvRecord & { row: number }} CsvRow `row` counts the records after the header, from 1
 */

/** The file is not valid CSV. The message contains the line number. */
export class CsvError extends Error {
  /**
   * @param {number} line from 1
   * @param {string} reason
   */
  constructor(line, reason) {
    super(`line ${line}: ${reason}`);
    this.name = 'CsvError';
    this.line = line;
  }
}

/** @typedef {'valueStart' | 'unquoted' | 'quoted' | 'quoteInQuoted'} CsvState */

/** Parses records from text in chunks of any length. */
export class CsvParser {
  /** The line of the next character, from 1. */
  line = 1;
  /** @type {CsvState} */
  #state = 'valueStart';
  /** @type {string[]} */
  #values = [];
  #value = '';
  #previous = '';
  #recordLine = 1;
  #quoteLine = 1;
  #delimiter;

  /** @param {string} [delimiter] one character */
  constructor(delimiter = ',') {
    this.#delimiter = delimiter;
  }

  /**
   * @param {string} text the next chunk
   * @returns {CsvRecord[]} the records that end in it
   * @throws {CsvError} for a quote where RFC 4180 allows none
   */
  push(text) {
    /** @type {CsvRecord[]} */
    const records = [];
    for (const character of text) {
      this.#take(character, records);
      if (character === '\r' || (character === '\n' && this.#previous !== '\r')) {
        this.line += 1;
      }
      this.#previous = character;
    }
    return records;
  }

  /**
   * @returns {CsvRecord[]} the last record, when no line end follows it
   * @throws {CsvError} if a quoted value is not closed
   */
  end() {
    if (this.#state === 'quoted') {
      throw new CsvError(this.#quoteLine, 'a quoted value begins here and does not end');
    }
    /** @type {CsvRecord[]} */
    const records = [];
    if (this.#state !== 'valueStart' || this.#values.length > 0) this.#endRecord(records);
    return records;
  }

  /**
   * @param {string} character
   * @param {CsvRecord[]} records receives the record that ends with this character
   */
  #take(character, records) {
    if (this.#state === 'quoted') {
      if (character === '"') this.#state = 'quoteInQuoted';
      else this.#value += character;
      return;
    }
    if (character === '"') {
      this.#takeQuote();
      return;
    }
    if (character === '\n' && this.#previous === '\r') return; // the second half of CRLF
    this.#beginRecord();
    if (character === this.#delimiter) this.#endValue();
    else if (character === '\r' || character === '\n') this.#endRecord(records);
    else if (this.#state === 'quoteInQuoted') {
      throw new CsvError(this.line, 'text after the quote that ends a value');
    } else {
      this.#state = 'unquoted';
      this.#value += character;
    }
  }

  #takeQuote() {
    this.#beginRecord();
    if (this.#state === 'valueStart') {
      this.#quoteLine = this.line;
    } else if (this.#state === 'quoteInQuoted') {
      this.#value += '"';
    } else {
      throw new CsvError(this.line, 'a quote inside a value that does not begin with one');
    }
    this.#state = 'quoted';
  }

  #beginRecord() {
    if (this.#state === 'valueStart' && this.#values.length === 0) this.#recordLine = this.line;
  }

  #endValue() {
    this.#values.push(this.#value);
    this.#value = '';
    this.#state = 'valueStart';
  }

  /** @param {CsvRecord[]} records */
  #endRecord(records) {
    this.#endValue();
    records.push({ line: this.#recordLine, values: this.#values });
    this.#values = [];
  }
}

/**
 * @param {AsyncIterable<Uint8Array> | Iterable<Uint8Array>} chunks the bytes of the file; a byte
 *   order mark is skipped
 * @param {CsvFormat} [format]
 * @returns {AsyncGenerator<CsvRecord, void>} every record, the header included, in constant memory
 * @throws {CsvError}
 */
export async function* readRecords(chunks, { delimiter = ',', encoding = 'utf-8' } = {}) {
  const parser = new CsvParser(delimiter);
  const decoder = new TextDecoder(encoding, { fatal: true });
  /**
   * @param {Uint8Array} [bytes] none: the end of the file
   * @returns {string}
   */
  const decode = (bytes) => {
    try {
      return bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode();
    } catch {
      throw new CsvError(parser.line, `not ${encoding} text; set --encoding`);
    }
  };
  for await (const chunk of chunks) {
    // Decoded line by line, so that the error contains the line of an invalid byte.
    for (const line of linesOf(chunk)) yield* parser.push(decode(line));
  }
  yield* parser.push(decode());
  yield* parser.end();
}

/**
 * @param {Uint8Array} bytes
 * @returns {Generator<Uint8Array, void>} pieces that end after a line feed, and the rest
 */
function* linesOf(bytes) {
  let start = 0;
  while (start < bytes.length) {
    const lineFeed = bytes.indexOf(0x0a, start);
    const end = lineFeed === -1 ? bytes.length : lineFeed + 1;
    yield bytes.subarray(start, end);
    start = end;
  }
}

/**
 * Reads a header and the rows below it. Empty lines are skipped.
 * @param {AsyncIterable<Uint8Array> | Iterable<Uint8Array>} chunks
 * @param {CsvFormat} [format]
 * @returns {Promise<{ columns: string[], rows: AsyncGenerator<CsvRow, void> }>}
 * @throws {CsvError} also while `rows` is read, for a row that is longer or shorter than the header
 */
export async function readTable(chunks, format) {
  const records = readRecords(chunks, format);
  const header = await records.next();
  if (header.done) throw new CsvError(1, 'the file is empty; a header is required');
  const columns = header.value.values;
  return { columns, rows: rowsBelow(columns, records) };
}

/**
 * @param {string[]} columns
 * @param {AsyncGenerator<CsvRecord, void>} records
 * @returns {AsyncGenerator<CsvRow, void>}
 */
async function* rowsBelow(columns, records) {
  let row = 0;
  for await (const { line, values } of records) {
    const isEmptyLine = values.length === 1 && values[0] === '';
    if (isEmptyLine && columns.length > 1) continue;
    if (values.length !== columns.length) {
      throw new CsvError(line, `${values.length} values, but the header has ${columns.length}`);
    }
    row += 1;
    yield { row, line, values };
  }
}
