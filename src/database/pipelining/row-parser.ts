import type { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import { Parser } from 'pg-protocol/dist/parser.js';

/** Makes a value of a column: of its text, from `start` to before `end`. */
export type ColumnReader = (bytes: Buffer, start: number, end: number) => unknown;

/** What pg-protocol's types keep to themselves. */
interface MessageParser {
  parse(bytes: Buffer, tell: (message: Message) => void): void;
  /** @param offset of the message's content @param length of that and of the length itself */
  handlePacket(offset: number, code: number, length: number, bytes: Buffer): Message;
}

interface Message {
  name: string;
}

/** `DataRow` of PostgreSQL's protocol: the number of columns, then the length of each and its text. */
const DATA_ROW = 'D'.charCodeAt(0);
const NULL_LENGTH = -1;

/**
 * A row as it arrived, to be read while it is told of: its bytes are used again. Who knows the types of the columns reads
 * them off the bytes; pg's own message has made a text of each before, of a list's 84 columns 42 for nothing.
 */
export class RowMessage implements Message {
  readonly name = 'dataRow';

  /** @param offset where the number of columns stands */
  constructor(
    private readonly bytes: Buffer,
    private readonly offset: number,
    readonly length: number,
  ) {}

  /** Returns what the readers make of the columns, in their order; null where a column is null. */
  columns(readers: readonly ColumnReader[]): unknown[] {
    const { bytes } = this;
    let start = this.offset + 2;
    return readers.map((read) => {
      const length = bytes.readInt32BE(start);
      start += 4;
      if (length === NULL_LENGTH) return null;
      start += length;
      return read(bytes, start - length, start);
    });
  }

  /** The columns as texts, for pg's own queries. */
  get fields(): (string | null)[] {
    const count = this.bytes.readInt16BE(this.offset);
    const texts = this.columns(new Array<ColumnReader>(count).fill(readText));
    return texts as (string | null)[];
  }
}

/** Reads a column as its text. */
export function readText(bytes: Buffer, start: number, end: number): string {
  return bytes.toString('utf8', start, end);
}

class RowParser extends (Parser as unknown as new () => MessageParser) {
  override handlePacket(offset: number, code: number, length: number, bytes: Buffer): Message {
    return code === DATA_ROW
      ? new RowMessage(bytes, offset, length)
      : super.handlePacket(offset, code, length, bytes);
  }
}

/** Has a connection of pg, before it connects, tell of rows by RowMessages. All else is as it was. */
export function tellRowsAsTheyArrive(connection: EventEmitter): void {
  const attachListeners = (stream: Duplex): void => {
    const parser = new RowParser();
    const tell = (message: Message): void => {
      connection.emit(message.name === 'error' ? 'errorMessage' : message.name, message);
    };
    stream.on('data', (bytes: Buffer) => parser.parse(bytes, tell));
  };
  Object.assign(connection, { attachListeners });
}
