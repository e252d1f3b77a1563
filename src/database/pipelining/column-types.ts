import pg from 'pg';

export type TypeId = Parameters<typeof pg.types.getTypeParser>[0];

export type ColumnParser = (text: string) => unknown;

/** An integer with at most this many digits is exact as a number. */
const MAX_EXACT_DIGITS = 15;

/** Parses an int8 column into an exact bigint, and all other columns as pg does. */
export const columnTypes = {
  getTypeParser: (type: TypeId, format?: 'text' | 'binary'): ColumnParser =>
    type === pg.types.builtins.INT8 && format !== 'binary'
      ? parseInt8
      : (pg.types.getTypeParser(type, format) as ColumnParser),
} satisfies pg.CustomTypesConfig;

/** V8 creates a bigint faster from a number than from a string. */
function parseInt8(text: string): bigint {
  return BigInt(text.length > MAX_EXACT_DIGITS ? text : Number(text));
}
