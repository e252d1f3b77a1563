import pg from 'pg';
import { type ColumnReader, readText } from './row-parser.js';

export type TypeId = Parameters<typeof pg.types.getTypeParser>[0];

type TextReader = (text: string) => unknown;

/** How values of the database are read: int8 as bigint, exact; all else as pg does. */
export const columnTypes = {
  getTypeParser: (type: TypeId, format?: 'text' | 'binary'): TextReader =>
    type === pg.types.builtins.INT8 && format !== 'binary'
      ? BigInt
      : (pg.types.getTypeParser(type, format) as TextReader),
} satisfies pg.CustomTypesConfig;

/** As `columnTypes`, off the bytes of a row. */
export function columnReader(type: TypeId): ColumnReader {
  if (type === pg.types.builtins.INT8) return readInt8;
  const read = columnTypes.getTypeParser(type);
  return (bytes, start, end) => read(readText(bytes, start, end));
}

/** Up to so many digits a number is exact. */
const EXACT_DIGITS = 15;
const ZERO = '0'.charCodeAt(0);
const MINUS = '-'.charCodeAt(0);

/** Most are short, and then a number on the way makes it a quarter of what `BigInt` of the text takes. */
function readInt8(bytes: Buffer, start: number, end: number): bigint {
  if (end - start > EXACT_DIGITS || bytes[start] === MINUS) {
    return BigInt(readText(bytes, start, end));
  }
  let value = 0;
  for (let index = start; index < end; index++) {
    value = value * 10 + (bytes[index] ?? ZERO) - ZERO;
  }
  return BigInt(value);
}
