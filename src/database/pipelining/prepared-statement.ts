// Sends one statement in PostgreSQL's extended query protocol and builds its rows.
// It saves the column description of each response and pg's result objects (docs/performance.md).
// It relies on undocumented members of pg's Connection (`parse`, `bind`, `describe`, `execute`,
// `parsedStatements`). If an upgrade of pg changes these, the tests of this folder fail; use
// `pool.query` with `rowMode: 'array'` instead.
import { type ColumnParser, columnTypes, type TypeId } from './column-types.js';

/** The values that a statement accepts. */
export type Parameter = string | number | bigint | null;

/** Builds a row from its columns, in the order of the statement. The caller knows their types. */
export type RowMapper<Row> = (columns: never) => Row;

/** Members of pg's Connection that its types omit. */
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

/** PostgreSQL's RowDescription message. */
export interface RowDescription {
  fields: readonly { dataTypeID: TypeId }[];
}

/** PostgreSQL's DataRow message: a text for each column. */
export interface DataRow {
  fields: readonly (string | null)[];
}

type Parsers = readonly ColumnParser[];

/** The column parsers of the prepared statements of each connection, by statement name. */
const columnParsers = new WeakMap<Connection, Map<string, Parsers>>();

/**
 * One execution of a statement. The server describes the columns of a prepared statement once per
 * connection.
 */
export class PreparedStatement<Row> {
  readonly rows: Row[] = [];
  /** The error of the row mapper. */
  failure: Error | null = null;
  private parsers: Parsers = [];
  private described: Map<string, Parsers> | undefined;

  /** @param name of the prepared statement, derived from the text; undefined: not to be prepared */
  constructor(
    readonly name: string | undefined,
    readonly text: string,
    private readonly values: readonly Parameter[],
    private readonly toRow: RowMapper<Row>,
  ) {}

  /** Sends the statement without a Sync message. The server responds after the next Sync. */
  send(connection: Connection): void {
    const { name, text, values } = this;
    this.described = parsersOf(connection);
    let parsers: Parsers | undefined;
    if (name !== undefined && isPrepared(connection, name)) {
      parsers = this.described.get(name);
    } else {
      connection.parse({ name, text });
      if (name !== undefined) connection.submittedNamedStatements[name] = text;
    }
    connection.bind({ statement: name, values, valueMapper: toText });
    if (parsers) this.parsers = parsers;
    else connection.describe({ type: 'P' });
    connection.execute();
  }

  describeRows({ fields }: RowDescription): void {
    this.parsers = fields.map(({ dataTypeID }) => columnTypes.getTypeParser(dataTypeID));
    if (this.name !== undefined) this.described?.set(this.name, this.parsers);
  }

  addRow({ fields }: DataRow): void {
    const { parsers } = this;
    try {
      const columns = fields.map((text, index) => (text === null ? null : parsers[index]?.(text)));
      this.rows.push(this.toRow(columns as never));
    } catch (error) {
      this.failure = error as Error;
    }
  }
}

function parsersOf(connection: Connection): Map<string, Parsers> {
  let parsers = columnParsers.get(connection);
  if (!parsers) columnParsers.set(connection, (parsers = new Map<string, Parsers>()));
  return parsers;
}

function isPrepared(connection: Connection, name: string): boolean {
  return name in connection.parsedStatements || name in connection.submittedNamedStatements;
}

function toText(value: Parameter): string | null {
  return value === null ? null : String(value);
}
