import { type DataSource, type EntityMetadata, type ObjectLiteral, Repository } from 'typeorm';
import { tableOf } from '../sql.js';
import type { PipelinedStatements } from './pipelined-statements.js';
import type { Parameter } from './statement-batch.js';

/** Bounds the memory for the SQL of an entity, in case a caller generates it. */
const MAX_TEXTS = 64;

/** Types whose values pg and TypeORM read alike, and whose parameters have one text. */
const SERVED_TYPES = new Set(
  (
    'bigint, boolean, character, character varying, citext, date, double precision, enum, integer, ' +
    'json, jsonb, numeric, real, smallint, text, timestamp with time zone, uuid'
  ).split(', '),
);

/** Types that TypeORM stores as text and converts. */
const CONVERTED_TYPES: readonly unknown[] = ['simple-array', 'simple-json'];

/** The DataSource of a PipelinedRepository. */
export interface PipeliningDataSource extends DataSource {
  readonly statements: PipelinedStatements;
}

/** Values by the names of properties. */
type NewRow<Entity> = { readonly [Property in keyof Entity]?: Entity[Property] | undefined };

/**
 * The repository that `@InjectRepository()` injects: TypeORM's, with two methods that run as pipelined
 * statements, at a fraction of the CPU time of `find` and `save` (docs/performance.md). They join an
 * open transaction. Subscribers are not called.
 *
 * @throws Error at the first use for an entity that they do not serve, with the name of its property:
 *   transformers, embedded entities, inheritance, views, soft deletion, arrays, and listeners
 */
export class PipelinedRepository<Entity extends ObjectLiteral> extends Repository<Entity> {
  /**
   * Returns rows with the columns of the entity, except those with `select: false`:
   * `pets.selectRows('WHERE id > $1 ORDER BY id LIMIT $2', [id, 20])`.
   *
   * The plan is made once for all values and sizes of the table, and a slow statement delays others. So
   * an index must serve the clauses, with a limit of rows, and they must take no locks.
   *
   * @param clauses the SQL after `SELECT … FROM table`, a constant
   * @throws the error of the pool or of PostgreSQL
   */
  async selectRows(clauses: string, values: readonly Parameter[] = []): Promise<Entity[]> {
    const { statements, rows } = this.pipelined();
    return statements.read(rows.select(clauses), values, rows.toRow, this.manager.queryRunner);
  }

  /**
   * Inserts a row and returns it with the columns of `selectRows`: in an open transaction at once, otherwise
   * after the commit. A missing property, or undefined, leaves its column to its default.
   *
   * Inserts that arrive together share a transaction, unless the entity declares a foreign key, a unique
   * constraint or index, an exclusion constraint, or a primary key that is not generated. So the entity must
   * declare all of those that the table has.
   *
   * @throws Error for a property without a column; the error of the pool or of PostgreSQL
   */
  async insertRow(row: NewRow<Entity>): Promise<Entity> {
    const { statements, rows } = this.pipelined();
    const [sql, values] = rows.insert(row);
    const { queryRunner } = this.manager;
    const inserted = rows.waitsForOthers
      ? await statements.insertAlone(sql, values, rows.toRow, queryRunner)
      : await statements.insert(sql, values, rows.toRow, queryRunner);
    return inserted[0] as Entity;
  }

  private pipelined() {
    const { statements } = this.manager.dataSource as PipeliningDataSource;
    return { statements, rows: rowsOf<Entity>(this.metadata) };
  }
}

const known = new WeakMap<EntityMetadata, EntityRows<ObjectLiteral>>();

/** Derives the SQL once for each entity: a transaction has repositories of its own. */
function rowsOf<Entity extends ObjectLiteral>(metadata: EntityMetadata): EntityRows<Entity> {
  let rows = known.get(metadata);
  if (!rows) known.set(metadata, (rows = new EntityRows(metadata)));
  return rows as EntityRows<Entity>;
}

/** The SQL and the rows of an entity, derived from TypeORM's metadata. */
class EntityRows<Entity extends ObjectLiteral> {
  /** Whether an insert can wait for another transaction. */
  readonly waitsForOthers: boolean;
  private readonly table: string;
  private readonly columns: string;
  private readonly selected: readonly string[];
  private readonly inserted: readonly InsertedColumn[];
  private readonly selects = new Map<string, string>();
  private readonly inserts = new Map<string, string>();

  /** @throws Error if the entity cannot be served */
  constructor(private readonly metadata: EntityMetadata) {
    requireServed(metadata);
    const { driver } = metadata.dataSource;
    const escape = (name: string) => driver.escape(name);
    this.table = tableOf(metadata);
    // TypeORM's `find` does not return the key of a relation without a property of its own either.
    const columns = metadata.columns.filter(({ isVirtual }) => !isVirtual);
    const selected = columns.filter(({ isSelect }) => isSelect);
    this.selected = selected.map(({ propertyName }) => propertyName);
    this.columns = selected
      .map(({ databaseName }) => `${this.table}.${escape(databaseName)}`)
      .join(', ');
    this.inserted = columns
      .filter(({ isInsert, generatedType }) => isInsert && !generatedType)
      .map((column) => ({
        property: column.propertyName,
        name: escape(column.databaseName),
        isJson: /^jsonb?$/.test(driver.normalizeType(column)),
        // One statement serves rows with and without such a value.
        isNullByDefault: column.isNullable && column.default === undefined && !column.isGenerated,
      }));
    const { uniques, indices, foreignKeys, exclusions, primaryColumns } = metadata;
    this.waitsForOthers =
      [...uniques, ...foreignKeys, ...exclusions].length > 0 ||
      indices.some(({ isUnique }) => isUnique) ||
      primaryColumns.some(({ isGenerated }) => !isGenerated);
  }

  /** Builds an entity from the columns of a row. The order of its properties is always the same. */
  readonly toRow = (columns: readonly unknown[]): Entity => {
    const row = this.metadata.create() as Record<string, unknown>;
    const names = this.selected;
    for (let index = 0; index < names.length; index++) row[names[index] as string] = columns[index];
    return row as Entity;
  };

  select(clauses: string): string {
    return textOf(
      this.selects,
      clauses,
      () => `SELECT ${this.columns} FROM ${this.table} ${clauses}`,
    );
  }

  /** Returns the statement for the columns that a row has, and its parameters. */
  insert(row: NewRow<Entity>): [sql: string, values: Parameter[]] {
    const values: Parameter[] = [];
    let key = '';
    let given = 0;
    for (const column of this.inserted) {
      const value: unknown = row[column.property];
      if (value !== undefined) given++;
      const isUsed = value !== undefined || column.isNullByDefault;
      key += isUsed ? '1' : '0';
      if (isUsed) values.push(this.parameterOf(column, value ?? null));
    }
    if (given < Object.values(row).filter((value) => value !== undefined).length)
      throw this.unknownProperty(row);
    return [textOf(this.inserts, key, () => this.insertText(key)), values];
  }

  private insertText(key: string): string {
    const names = this.inserted.filter((_, index) => key[index] === '1').map(({ name }) => name);
    const rows =
      names.length === 0
        ? 'DEFAULT VALUES'
        : `(${names.join(', ')}) VALUES (${names.map((_, index) => `$${index + 1}`).join(', ')})`;
    return `INSERT INTO ${this.table} ${rows} RETURNING ${this.columns}`;
  }

  private parameterOf({ property, isJson }: InsertedColumn, value: unknown): Parameter {
    if (value === null) return null;
    if (isJson) return JSON.stringify(value);
    if (value instanceof Date) return value.toISOString();
    if (typeof value !== 'object') return value as Parameter;
    throw new Error(
      `${this.metadata.name}.${property} is an object, which insertRow() cannot store`,
    );
  }

  private unknownProperty(row: NewRow<Entity>): Error {
    const known = this.inserted.map(({ property }) => property);
    const unknown = Object.keys(row).filter((name) => !known.includes(name));
    const { name } = this.metadata;
    return new Error(`${name} has no column that insertRow() can set for: ${unknown.join(', ')}`);
  }
}

interface InsertedColumn {
  readonly property: string;
  readonly name: string;
  readonly isJson: boolean;
  readonly isNullByDefault: boolean;
}

/** Returns the text of a key. While the number of texts is bounded, it is built once. */
function textOf(texts: Map<string, string>, key: string, build: () => string): string {
  let text = texts.get(key);
  if (text === undefined) {
    text = build();
    if (texts.size < MAX_TEXTS) texts.set(key, text);
  }
  return text;
}

/** @throws Error that says which property PostgreSQL's rows alone would read or store wrongly */
function requireServed(metadata: EntityMetadata): void {
  const { name, columns, listeners, eagerRelations } = metadata;
  const isPlain = metadata.tableType === 'regular' && !metadata.treeType;
  const problems = [
    ...(isPlain && !metadata.inheritancePattern ? [] : [' is a view, a tree or inherited']),
    ...columns.flatMap((column) => {
      const problem = problemOf(column);
      return problem ? [`.${column.propertyPath} ${problem}`] : [];
    }),
    ...eagerRelations.map(({ propertyPath }) => `.${propertyPath} is an eager relation`),
    ...listeners
      .filter(({ type }) => /^(?:after-load|(?:before|after)-insert)$/.test(type))
      .map(({ propertyName }) => `.${propertyName} is a listener`),
  ];
  if (problems[0] === undefined) return;
  const problem = `${name}${problems[0]}`;
  throw new Error(
    `${problem}, so selectRows() and insertRow() do not serve ${name}. Use find() and save().`,
  );
}

function problemOf(column: EntityMetadata['columns'][number]): string | undefined {
  if (column.transformer) return 'has a transformer';
  if (column.embeddedMetadata) return 'is part of an embedded entity';
  if (column.isVirtualProperty) return 'is a virtual column';
  // `find` omits deleted rows.
  if (column.isDeleteDate) return 'marks deleted rows';
  if (column.isArray) return 'is an array';
  const type = column.entityMetadata.dataSource.driver.normalizeType(column);
  const isServed = SERVED_TYPES.has(type) && !CONVERTED_TYPES.includes(column.type);
  return isServed || column.isVirtual ? undefined : `has the type ${String(column.type)}`;
}
