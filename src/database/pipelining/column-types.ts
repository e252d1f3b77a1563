// Parses the columns of a row from the text format of PostgreSQL.
// Creating a bigint from a number saves CPU time on lists (docs/performance.md).
// It relies on pg's documented `types` option and on int8 arriving as decimal text.
// If parsing becomes wrong, return `BigInt` as the parser of int8.
import pg from 'pg';

export type TypeId = Parameters<typeof pg.types.getTypeParser>[0];

export type ColumnParser = (text: string) => unknown;

/** An integer with at most this many digits is exact as a number. */
const MAX_EXACT_DIGITS = 15;

/** Parses int8 into an exact bigint, and all other types as pg does. */
export const columnTypes = {
  getTypeParser: (type: TypeId, format?: 'text' | 'binary'): ColumnParser =>
    type === pg.types.builtins.INT8 && format !== 'binary'
      ? parseInt8
      : (pg.types.getTypeParser(type, format) as ColumnParser),
} satisfies pg.CustomTypesConfig;

function parseInt8(text: string): bigint {
  return BigInt(text.length > MAX_EXACT_DIGITS ? text : Number(text));
}
