import { parseInt64 } from '../validation/int64.js';

/** How the value of a sort column is written in a cursor. */
interface Notation {
  write: (value: never) => string;
  /** Returns undefined for text that PostgreSQL would not accept as a value of the column. */
  parse: (text: string) => unknown;
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
const FIRST_TIMESTAMP_MS = Date.parse('0001-01-01T00:00:00Z');
const LAST_TIMESTAMP_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** The types of sort columns by their names in PostgreSQL. A sort column is never null. */
export const SORT_COLUMNS = {
  bigint: { write: String, parse: parseInt64 },
  text: { write: writeText, parse: parseText },
  uuid: { write: String, parse: (text) => (UUID.test(text) ? text : undefined) },
  /** In milliseconds: a column with microseconds would skip or repeat rows. */
  timestamp: {
    write: (date: Date) => String(date.getTime()),
    parse: (text) => {
      const ms = Number(text);
      return ms >= FIRST_TIMESTAMP_MS && ms <= LAST_TIMESTAMP_MS ? new Date(ms) : undefined;
    },
  },
} satisfies Record<string, Notation>;

export type SortColumn = keyof typeof SORT_COLUMNS;

/** The values of sort columns in one row. */
export type Position<Columns extends readonly SortColumn[]> = {
  [Index in keyof Columns]: NonNullable<ReturnType<(typeof SORT_COLUMNS)[Columns[Index]]['parse']>>;
};

/** Returns text without commas and colons. Empty text becomes `%`, which no other text becomes. */
export function writeText(text: string): string {
  return text === '' ? '%' : encodeURIComponent(text);
}

function parseText(text: string): string | undefined {
  if (text === '%') return '';
  try {
    const decoded = decodeURIComponent(text);
    // PostgreSQL stores no NUL.
    return decoded.includes('\0') ? undefined : decoded;
  } catch {
    return undefined;
  }
}
