// @ts-check
// Reads CSV as RFC 4180 describes it: quoted fields, doubled quotes, line ends inside quotes.
// Records may end with CRLF, LF or CR. What the RFC does not allow is an error that names the line,
// because a guess would put a value into the wrong column for the rest of the file.

/**
 * @typedef {object} CsvFormat
 * @property {string | undefined} [delimiter] one character between fields; a comma by default
 * @property {string | undefined} [encoding] a label of the WHATWG Encoding Standard; `utf-8` by default
 *
 * @typedef {{ line: number, fields: string[] }} CsvRecord `line` is where the record begins, from 1
 * @typedef {CsvRecord & { row: number }} CsvRow `row` counts the records after the header, from 1
 */

/** A file that is not CSV; the message names the line. */
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

/** @typedef {'fieldStart' | 'unquoted' | 'quoted' | 'quoteInQuoted'} CsvState */

/** Turns text, given in pieces of any length, into records. */
export class CsvParser {
  /** The line of the next character, from 1. */
  line = 1;
  /** @type {CsvState} */
  #state = 'fieldStart';
  /** @type {string[]} */
  #fields = [];
  #field = '';
  #previous = '';
  #recordLine = 1;
  #quoteLine = 1;
  #delimiter;

  /** @param {string} [delimiter] one character */
  constructor(delimiter = ',') {
    this.#delimiter = delimiter;
  }

  /**
   * @param {string} text the next piece
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
   * @throws {CsvError} when a quoted field is still open
   */
  end() {
    if (this.#state === 'quoted') {
      throw new CsvError(this.#quoteLine, 'a quoted field begins here and does not end');
    }
    /** @type {CsvRecord[]} */
    const records = [];
    if (this.#state !== 'fieldStart' || this.#fields.length > 0) this.#endRecord(records);
    return records;
  }

  /**
   * @param {string} character
   * @param {CsvRecord[]} records receives the record that ends with this character
   */
  #take(character, records) {
    if (this.#state === 'quoted') {
      if (character === '"') this.#state = 'quoteInQuoted';
      else this.#field += character;
      return;
    }
    if (character === '"') {
      this.#takeQuote();
      return;
    }
    if (character === '\n' && this.#previous === '\r') return; // the second half of CRLF
    this.#beginRecord();
    if (character === this.#delimiter) this.#endField();
    else if (character === '\r' || character === '\n') this.#endRecord(records);
    else if (this.#state === 'quoteInQuoted') {
      throw new CsvError(this.line, 'text after the quote that ends a field');
    } else {
      this.#state = 'unquoted';
      this.#field += character;
    }
  }

  #takeQuote() {
    this.#beginRecord();
    if (this.#state === 'fieldStart') {
      this.#quoteLine = this.line;
    } else if (this.#state === 'quoteInQuoted') {
      this.#field += '"';
    } else {
      throw new CsvError(this.line, 'a quote inside a field that does not begin with one');
    }
    this.#state = 'quoted';
  }

  #beginRecord() {
    if (this.#state === 'fieldStart' && this.#fields.length === 0) this.#recordLine = this.line;
  }

  #endField() {
    this.#fields.push(this.#field);
    this.#field = '';
    this.#state = 'fieldStart';
  }

  /** @param {CsvRecord[]} records */
  #endRecord(records) {
    this.#endField();
    records.push({ line: this.#recordLine, fields: this.#fields });
    this.#fields = [];
  }
}

/**
 * @param {AsyncIterable<Uint8Array> | Iterable<Uint8Array>} chunks the bytes of the file; a byte order mark is skipped
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
      throw new CsvError(parser.line, `not ${encoding} text; --encoding names another one`);
    }
  };
  for await (const chunk of chunks) {
    // Decoded line by line, so that the line of a bad byte is known.
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
  if (header.done) throw new CsvError(1, 'the file is empty, it needs a header');
  const columns = header.value.fields;
  return { columns, rows: rowsBelow(columns, records) };
}

/**
 * @param {string[]} columns
 * @param {AsyncGenerator<CsvRecord, void>} records
 * @returns {AsyncGenerator<CsvRow, void>}
 */
async function* rowsBelow(columns, records) {
  let row = 0;
  for await (const { line, fields } of records) {
    const isEmptyLine = fields.length === 1 && fields[0] === '';
    if (isEmptyLine && columns.length > 1) continue;
    if (fields.length !== columns.length) {
      throw new CsvError(line, `${fields.length} fields, but the header has ${columns.length}`);
    }
    row += 1;
    yield { row, line, fields };
  }
}
