import { type ColumnParser, columnTypes, type TypeId } from './column-types.js';

/** What a statement may be given: pg's mappings of other types are left out. */
export type Parameter = string | number | bigint | null;

/** Makes a row of an array of its columns, in the order of the statement: it alone knows their types. */
export type RowMaker<Row> = (columns: never) => Row;

/** What pg's types leave out of a connection. */
export interface Connection {
  readonly parsedStatements: Readonly<Record<string, string>>;
  readonly submittedNamedStatements: Record<string, string>;
  readonly stream: { cork(): void; uncork(): void };
  parse(statement: { name: string | undefined; text: string }): void;
  bind(portal: {
    statement: string | undefined;
    values: readonly Parameter[];
    valueMapper: (value: Parameter) => string | null;
  }): void;
  describe(portal: { type: 'P' }): void;
  execute(): void;
  sync(): void;
  sendCopyFail(reason: string): void;
}

export interface RowDescription {
  fields: readonly { dataTypeID: TypeId }[];
}

export interface DataRow {
  fields: readonly (string | null)[];
}

type Readers = readonly ColumnParser[];

/** How to read the columns of what each connection has prepared, by name. */
const columnReaders = new WeakMap<Connection, Map<string, Readers>>();

/**
 * One statement and its rows. What its columns are is asked once for a connection and a prepared statement: they stay
 * the same.
 *
 * pg's own query has them described for each, and makes an event emitter, a result, and rows member by member: a
 * twentieth of a list in all.
 */
export class PreparedStatement<Row> {
  readonly rows: Row[] = [];
  /** Why a row could not be made of its columns. */
  failure: Error | null = null;
  private readers: Readers | undefined;
  private known: Map<string, Readers> | undefined;

  /** @param name of the prepared statement, made of the text; undefined: prepared for this once */
  constructor(
    readonly name: string | undefined,
    readonly text: string,
    private readonly values: readonly Parameter[],
    private readonly toRow: RowMaker<Row>,
  ) {}

  /** Sends it without a Sync: the server answers when one follows. */
  send(connection: Connection): void {
    this.known = readersOf(connection);
    if (isPrepared(connection, this.name)) this.readers = this.known.get(this.name);
    else this.prepare(connection);
    const { name, values } = this;
    connection.bind({ statement: name, values, valueMapper: parameterText });
    if (!this.readers) connection.describe({ type: 'P' });
    connection.execute();
  }

  private prepare(connection: Connection): void {
    const { name, text } = this;
    connection.parse({ name, text });
    if (name !== undefined) connection.submittedNamedStatements[name] = text;
  }

  describeRows({ fields }: RowDescription): void {
    this.readers = fields.map(({ dataTypeID }) => columnTypes.getTypeParser(dataTypeID));
    if (this.name !== undefined) this.known?.set(this.name, this.readers);
  }

  addRow({ fields }: DataRow): void {
    const { readers = [] } = this;
    try {
      const columns = fields.map((text, index) => (text === null ? null : readers[index]?.(text)));
      this.rows.push(this.toRow(columns as never));
    } catch (error) {
      this.failure = error as Error;
    }
  }
}

function readersOf(connection: Connection): Map<string, Readers> {
  let readers = columnReaders.get(connection);
  if (!readers) columnReaders.set(connection, (readers = new Map<string, Readers>()));
  return readers;
}

function isPrepared(connection: Connection, name: string | undefined): name is string {
  if (name === undefined) return false;
  return name in connection.parsedStatements || name in connection.submittedNamedStatements;
}

function parameterText(value: Parameter): string | null {
  return value === null ? null : String(value);
}
