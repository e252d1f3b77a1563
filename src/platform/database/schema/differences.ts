import type {
  Catalogue,
  CatalogueColumn,
  CatalogueConstraint,
  CatalogueEnum,
  CatalogueObject,
  CatalogueTable,
} from './catalogue.js';

/** A statement of a migration. */
export interface Statement {
  sql: string;
  /** What the statement costs or requires, as sentences. */
  warnings: string[];
}

/** The difference between the tables of a database and those that entities declare. */
export interface Differences {
  statements: Statement[];
  /** What the statements do not change, although it differs, as sentences. */
  notes: string[];
  /** What differs and needs a migration that somebody writes, as sentences. */
  problems: string[];
}

/** The names of PostgreSQL that are longer than the ones that everyone writes. */
const SHORT_TYPES: [RegExp, string][] = [
  [/^timestamp(\(\d\))? with time zone/, 'timestamptz$1'],
  [/^timestamp(\(\d\))? without time zone/, 'timestamp$1'],
  [/^character varying/, 'varchar'],
];
const SERIAL_TYPES: Record<string, string> = {
  smallint: 'smallserial',
  integer: 'serial',
  bigint: 'bigserial',
};

/**
 * Returns what a migration has to change, so that the database is as the entities declare it.
 *
 * @param ownIndexes the names of the indexes that migrations create, and whose definition no entity has
 */
export function compareCatalogues(
  actual: Catalogue,
  declared: Catalogue,
  ownIndexes: readonly string[],
): Differences {
  const [created, kept]: [CatalogueTable[], [CatalogueTable, CatalogueTable][]] = [[], []];
  for (const table of declared.tables) {
    const existing = named(actual.tables, table.name);
    if (existing) kept.push([existing, table]);
    else created.push(table);
  }
  const differences: Differences = { statements: [], notes: [], problems: [] };
  const { statements, notes } = differences;
  for (const type of declared.enums) compareEnum(differences, named(actual.enums, type.name), type);
  statements.push(...created.map((table) => createTable(table, created)));
  statements.push(...created.flatMap((table) => createForeignKeys(table, created)));
  for (const [existing, table] of kept) alterTable(differences, existing, table);
  for (const table of created) compareIndexes(statements, undefined, table);
  for (const [{ indexes, ...existing }, table] of kept) {
    const compared = indexes.filter(({ name }) => !ownIndexes.includes(name));
    compareIndexes(statements, { ...existing, indexes: compared }, table);
  }
  const indexes = actual.tables.flatMap((table) => table.indexes);
  for (const name of ownIndexes.filter((name) => !named(indexes, name)))
    notes.push(`Write the statement that creates the index ${name}: TypeORM cannot express it.`);
  for (const { name } of actual.tables.filter(({ name }) => !named(declared.tables, name)))
    notes.push(`The table ${name} is in no entity. It stays.`);
  return differences;
}

const named = <Item extends { name: string }>(items: readonly Item[], name: string) =>
  items.find((item) => item.name === name);

function compareEnum(
  { statements, problems }: Differences,
  actual: CatalogueEnum | undefined,
  { name, values }: CatalogueEnum,
): void {
  if (!actual) {
    statements.push({ sql: `CREATE TYPE ${name} AS ENUM (${values.join(', ')})`, warnings: [] });
  } else if (actual.values.some((value, index) => value !== values[index])) {
    problems.push(`The type ${name} can only get more values, after the others.`);
  } else {
    for (const value of values.slice(actual.values.length))
      statements.push({ sql: `ALTER TYPE ${name} ADD VALUE ${value}`, warnings: [] });
  }
}

function createTable(table: CatalogueTable, created: readonly CatalogueTable[]): Statement {
  const { name, columns, constraints } = table;
  const parts = [
    ...columns.map((column) => columnDefinition(column, columns)),
    ...constraints
      .filter((constraint) => !isLate(constraint, table, created))
      .map(constraintDefinition),
  ];
  return { sql: `CREATE TABLE ${name} (\n  ${parts.join(',\n  ')}\n)`, warnings: [] };
}

function createForeignKeys(table: CatalogueTable, created: readonly CatalogueTable[]): Statement[] {
  return table.constraints
    .filter((constraint) => isLate(constraint, table, created))
    .map((constraint) => ({
      sql: `ALTER TABLE ${table.name}\n  ADD ${constraintDefinition(constraint)}`,
      warnings: [],
    }));
}

/** Whether a constraint is a foreign key to another new table, which may be created later. */
function isLate(
  { refersTo }: CatalogueConstraint,
  { name }: CatalogueTable,
  created: readonly CatalogueTable[],
): boolean {
  return refersTo !== null && refersTo !== name && named(created, refersTo) !== undefined;
}

/** @param columns of the table, whose names and types are aligned */
function columnDefinition(column: CatalogueColumn, columns = [column]): string {
  const type = typeOf(column);
  const width = (text: (column: CatalogueColumn) => string) =>
    Math.max(...columns.map((each) => text(each).length));
  const isSerial = type.endsWith('serial');
  const parts = [
    column.name.padEnd(width(({ name }) => name)),
    type.padEnd(width(typeOf)),
    // An identity and a serial are never null.
    column.notNull && !isSerial && !column.generated?.endsWith('IDENTITY') ? 'NOT NULL' : '',
    column.default === null || isSerial ? '' : `DEFAULT ${literal(column.default)}`,
    column.generated ?? '',
  ];
  return parts.filter(Boolean).join(' ').trimEnd();
}

function typeOf({ type, default: value }: CatalogueColumn): string {
  const serial = value?.startsWith('nextval(') ? SERIAL_TYPES[type] : undefined;
  return serial ?? SHORT_TYPES.reduce((text, [long, short]) => text.replace(long, short), type);
}

/** Returns an expression without the type of a literal, which PostgreSQL adds. */
const literal = (expression: string) =>
  expression.replace(/^('(?:[^']|'')*')::[\w. ]+(?:\[\])?$/, '$1');

const constraintDefinition = ({ name, definition, declaration }: CatalogueConstraint) =>
  `CONSTRAINT ${name} ${declaration ?? definition.replace(/(REFERENCES \S+)\(/, '$1 (')}`;

function alterTable(
  differences: Differences,
  actual: CatalogueTable,
  declared: CatalogueTable,
): void {
  const { name } = declared;
  const actions: string[] = [];
  const warnings = new Set<string>();
  compareConstraints(differences, actual, declared, actions, warnings);
  for (const column of declared.columns) {
    const existing = named(actual.columns, column.name);
    const change = existing ? changeColumn(existing, column) : addColumn(column);
    actions.push(...(change.actions ?? []));
    for (const warning of change.warnings ?? []) warnings.add(warning);
    if (change.problem) differences.problems.push(`${name}.${column.name} ${change.problem}`);
  }
  for (const column of actual.columns.filter(({ name }) => !named(declared.columns, name))) {
    differences.notes.push(
      `${name}.${column.name} is in no entity. It stays: to drop it deletes its values, and the previous release may use it.`,
    );
    if (column.notNull && isRequired(column))
      actions.push(`ALTER COLUMN ${column.name} DROP NOT NULL`);
  }
  if (actions.length === 0) return;
  // A constraint that is replaced is dropped first, and new ones may need new columns.
  const order = (action: string) =>
    ['DROP', 'ADD COLUMN', 'ALTER', 'ADD CONSTRAINT'].findIndex((start) =>
      action.startsWith(start),
    );
  actions.sort((one, other) => order(one) - order(other));
  const space = actions.length === 1 ? ' ' : '\n  ';
  differences.statements.push({
    sql: `ALTER TABLE ${name}${space}${actions.join(',\n  ')}`,
    warnings: [...warnings].map((warning) => warning.replace('TABLE', name)),
  });
}

/** Whether an INSERT must have a value for the column, if it is NOT NULL. */
const isRequired = (column: CatalogueColumn) =>
  column.default === null && column.generated === null;

interface ColumnChange {
  actions?: string[];
  warnings?: string[];
  problem?: string;
}

const REWRITES = 'Requests to TABLE wait until PostgreSQL has written all its rows again.';
const READS = 'Requests to TABLE wait until PostgreSQL has read all its rows.';
const PREVIOUS_ROWS = 'The rows of the table and those of the previous release must comply.';

function addColumn(column: CatalogueColumn): ColumnChange {
  if (column.notNull && isRequired(column)) {
    return {
      problem:
        'is new and NOT NULL without a default: the rows that exist, and those of the previous release, have no value. Make it nullable, or give it a default.',
    };
  }
  // PostgreSQL stores a constant default, and that of now(), once.
  const isConstant = column.generated === null && !/\((?<!^now\()/.test(column.default ?? '');
  return {
    actions: [`ADD COLUMN ${columnDefinition(column)}`],
    warnings: isConstant ? [] : [REWRITES],
  };
}

function changeColumn(actual: CatalogueColumn, column: CatalogueColumn): ColumnChange {
  const alter = `ALTER COLUMN ${column.name}`;
  const change = { actions: [] as string[], warnings: [] as string[] };
  const describe = (each: CatalogueColumn) =>
    [typeOf(each), each.generated].filter(Boolean).join(' ');
  const before = describe(actual);
  const after = describe(column);
  if (before !== after) {
    if (!isWidened(actual.type, column.type) || actual.generated || column.generated) {
      return {
        problem: `changes from ${before} to ${after}, which can change or lose values, and the previous release may not read them. Write this migration: add another column, and copy the values.`,
      };
    }
    change.actions.push(`${alter} TYPE ${typeOf(column)}`);
  }
  if (actual.default !== column.default) {
    const value = column.default;
    change.actions.push(
      `${alter} ${value === null ? 'DROP DEFAULT' : `SET DEFAULT ${literal(value)}`}`,
    );
    if (value === null && column.notNull)
      change.warnings.push('The previous release must not rely on the default.');
  }
  if (actual.notNull !== column.notNull) {
    change.actions.push(`${alter} ${column.notNull ? 'SET' : 'DROP'} NOT NULL`);
    if (column.notNull) change.warnings.push(READS, PREVIOUS_ROWS);
  }
  return change;
}

/** Whether every text of a type also is one of the other type, without a change of the rows. */
function isWidened(actual: string, declared: string): boolean {
  const text = /^(?:text|character varying(?:\((\d+)\))?)( COLLATE .+)?$/;
  const before = text.exec(actual);
  const after = text.exec(declared);
  if (!before || !after || before[2] !== after[2]) return false;
  return Number(before[1] ?? Infinity) <= Number(after[1] ?? Infinity);
}

/** Returns what differs or is not declared, except what belongs to a column that stays. */
const replaced = <Item extends CatalogueObject>(
  actual: readonly Item[],
  declared: readonly Item[],
  { columns }: CatalogueTable,
): Item[] =>
  actual.filter(
    (item) =>
      named(declared, item.name)?.definition !== item.definition &&
      item.columns.every((column) => named(columns, column)),
  );

function compareConstraints(
  { problems }: Differences,
  actual: CatalogueTable,
  declared: CatalogueTable,
  actions: string[],
  warnings: Set<string>,
): void {
  for (const { name, kind } of replaced(actual.constraints, declared.constraints, declared)) {
    if (kind === 'primary key')
      problems.push(`The primary key of ${declared.name} changes. Write this migration.`);
    actions.push(`DROP CONSTRAINT ${name}`);
  }
  for (const constraint of declared.constraints) {
    const existing = named(actual.constraints, constraint.name);
    if (existing?.definition === constraint.definition) continue;
    actions.push(`ADD ${constraintDefinition(constraint)}`);
    warnings.add(READS);
    const isOfNewColumns = constraint.columns.every((column) => !named(actual.columns, column));
    if (!isOfNewColumns) warnings.add(PREVIOUS_ROWS);
  }
}

function compareIndexes(
  statements: Statement[],
  actual: CatalogueTable | undefined,
  declared: CatalogueTable,
): void {
  for (const { name } of replaced(actual?.indexes ?? [], declared.indexes, declared)) {
    statements.push({ sql: `DROP INDEX ${name}`, warnings: [] });
  }
  for (const { name, definition } of declared.indexes) {
    if (named(actual?.indexes ?? [], name)?.definition === definition) continue;
    const wait = `Changes of ${declared.name} wait until PostgreSQL has read all its rows.`;
    const sql = definition.replace(' USING btree', '');
    statements.push({ sql, warnings: actual ? [wait] : [] });
  }
}
