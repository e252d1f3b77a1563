// Runs several statements as one transaction with one round trip, and parses their rows.
// It saves system calls, commits, column descriptions and pg's result objects
// (docs/performance.md). It relies on pg's undocumented protocol for submitted queries (`submit`,
// `handle…`), on undocumented members of its Connection, and on PostgreSQL's pipelining. If an
// upgrade of pg changes these, the tests of this folder fail; run each statement with `pool.query`
// and `rowMode: 'array'` instead.
import { hash } from 'node:crypto';
import pg from 'pg';

/** Bounds the server's memory for prepared statements if SQL is generated in many shapes. */
const MAX_NAMED_STATEMENTS = 256;

/** The values that a statement accepts. */
export type Parameter = string | number | bigint | boolean | null;

type TypeId = Parameters<typeof pg.types.getTypeParser>[0];

type ColumnParser = (text: string) => unknown;

/** The column parsers of a connection's prepared statements, by statement name. */
export type PreparedStatements = Map<string, readonly ColumnParser[]>;

/** Members of pg's Connection that its types omit. */
interface Connection {
  readonly parsedStatements: Record<string, string>;
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
  close(statement: { type: 'S'; name: string }): void;
  sync(): void;
}

interface RowDescription {
  fields: readonly { dataTypeID: TypeId }[];
}

/** A value is text or null until `addRow` parses it. */
interface DataRow {
  readonly fields: unknown[];
}

/** An integer with at most this many digits is exact as a number. */
const MAX_EXACT_DIGITS = 15;

/** Parses int8 into an exact bigint, leaves a date as text, and parses all other types as pg does. */
export const columnTypes = {
  getTypeParser: (type: TypeId): ColumnParser => {
    if (type === pg.types.builtins.INT8) return parseInt8;
    // pg would return a moment that depends on the time zone of the process.
    if (type === pg.types.builtins.DATE) return String;
    const parse = pg.types.getTypeParser(type) as ColumnParser;
    if (type !== pg.types.builtins.TIMESTAMP && type !== pg.types.builtins.TIMESTAMPTZ)
      return parse;
    return (text) => {
      const time = parse(text);
      if (time !== null && !Number.isNaN(Number(time))) return time;
      throw new Error('PostgreSQL returned a timestamp that cannot be parsed');
    };
  },
} satisfies pg.CustomTypesConfig;

/** Creating a bigint from a number saves CPU time on lists. */
function parseInt8(text: string): bigint {
  return BigInt(text.length > MAX_EXACT_DIGITS ? text : Number(text));
}

/** A statement whose rows a caller waits for. Its columns are described once per connection. */
export class Statement {
  /** undefined: not to be prepared. */
  name: string | undefined;
  /** The columns of each row. */
  private rows: unknown[][] = [];
  private parsers: readonly ColumnParser[] = [];

  /** @param isTyped whether it casts each parameter and each result, so that no migration changes their types */
  constructor(
    readonly text: string,
    private readonly values: readonly Parameter[],
    private resolve?: (rows: unknown[][]) => void,
    private readonly reject?: (error: unknown) => void,
    readonly isTyped = false,
  ) {}

  /**
   * Sends the statement without a Sync message. The server responds after the next Sync.
   *
   * @param prepared undefined: the connection prepares no statements
   */
  send(connection: Connection, prepared: PreparedStatements | undefined): void {
    const { text, values } = this;
    const { parsedStatements, submittedNamedStatements } = connection;
    const name = prepared && statementName(text);
    let parsers: readonly ColumnParser[] | undefined;
    if (name !== undefined && (name in parsedStatements || name in submittedNamedStatements)) {
      parsers = prepared?.get(name);
    } else {
      connection.parse({ name, text });
      if (name !== undefined) submittedNamedStatements[name] = text;
    }
    connection.bind({ statement: name, values, valueMapper: toText });
    if (!parsers) connection.describe({ type: 'P' });
    connection.execute();
    this.name = name;
    this.parsers = parsers ?? [];
    // It may have been sent before, in a batch that failed.
    this.rows = [];
  }

  describeRows({ fields }: RowDescription, prepared: PreparedStatements | undefined): void {
    this.parsers = fields.map(({ dataTypeID }) => columnTypes.getTypeParser(dataTypeID));
    if (this.name !== undefined) prepared?.set(this.name, this.parsers);
  }

  addRow({ fields }: DataRow): void {
    try {
      for (let index = 0; index < fields.length; index++) {
        const text = fields[index] as string | null;
        if (text !== null) fields[index] = this.parsers[index]?.(text);
      }
    } catch (error) {
      // Thrown here, it would end the process.
      this.resolve = () => this.reject?.(error);
    }
    this.rows.push(fields);
  }

  settle(error: unknown): void {
    if (error) this.reject?.(error);
    else this.resolve?.(this.rows);
  }
}

const statementNames = new Map<string, string>();

/** Derives the name from the text, so that all processes use the same name. */
export function statementName(text: string): string | undefined {
  let name = statementNames.get(text);
  if (name === undefined && statementNames.size < MAX_NAMED_STATEMENTS) {
    name = hash('sha1', text, 'base64url');
    statementNames.set(text, name);
  }
  return name;
}

/**
 * Called once: without an error when all statements have succeeded, otherwise with the error, and
 * then no statement has taken effect.
 *
 * @param failed the statement that the server rejected; undefined if the error concerns all of them
 */
export type BatchDone = (error: Error | null, failed?: Statement) => void;

/**
 * Statements that are sent in one write and form one transaction. The server commits once. When a
 * statement fails, the server rolls back the previous ones and skips the next ones (see
 * "Pipelining" in PostgreSQL's documentation of the extended query protocol). pg treats a batch as
 * one query.
 */
export class StatementBatch {
  private current = 0;

  /** @param callback pg looks for this name */
  constructor(
    private readonly statements: readonly Statement[],
    private readonly prepared: PreparedStatements | undefined,
    readonly callback: BatchDone,
  ) {}

  /** pg reads `name` and `text` to record which statements a connection has prepared. */
  get name(): string | undefined {
    return this.statements[this.current]?.name;
  }

  get text(): string | undefined {
    return this.statements[this.current]?.text;
  }

  submit(connection: Connection): null {
    const { stream } = connection;
    stream.cork();
    for (const statement of this.statements) statement.send(connection, this.prepared);
    connection.sync();
    stream.uncork();
    return null;
  }

  handleRowDescription(description: RowDescription): void {
    this.statements[this.current]?.describeRows(description, this.prepared);
  }

  handleDataRow(row: DataRow): void {
    this.statements[this.current]?.addRow(row);
  }

  handleCommandComplete(): void {
    this.current++;
  }

  /** The transaction has ended. The statements have no effect before this. */
  handleReadyForQuery(): void {
    this.callback(null);
  }

  handleError(error: Error, { submittedNamedStatements }: Connection): void {
    // The server has skipped the next statements, so it has not prepared them.
    for (const { name = '' } of this.statements)
      Reflect.deleteProperty(submittedNamedStatements, name);
    const isOfStatement = error instanceof pg.DatabaseError;
    this.callback(error, isOfStatement ? this.statements[this.current] : undefined);
  }
}

function toText(value: Parameter): string | null {
  return value === null ? null : String(value);
}
