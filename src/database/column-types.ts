import pg from 'pg';

export type TypeId = Parameters<typeof pg.types.getTypeParser>[0];

/** Reads a value as the server writes it. */
export type ValueReader = (text: string) => unknown;

/** How values of the database are read: int8 as bigint, exact; all else as pg does. */
export const columnTypes = {
  getTypeParser: (type: TypeId, format?: 'text' | 'binary'): ValueReader =>
    type === pg.types.builtins.INT8 && format !== 'binary'
      ? BigInt
      : (pg.types.getTypeParser(type, format) as ValueReader),
} satisfies pg.CustomTypesConfig;
