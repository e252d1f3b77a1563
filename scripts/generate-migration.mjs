// @ts-check
// Writes a migration from what TypeORM finds to differ between the entities and the database. `db generate` loads this file, which only a
// checkout has.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DefaultNamingStrategy } from 'typeorm';

/** @import { DataSource, Table, View } from 'typeorm' */

const TYPE_CHANGES =
  'changes its type, which can change or lose values, and the previous release may not read them. Write this migration: add another column, and copy the values.';
const NO_VALUE =
  'is new and NOT NULL without a default: the rows that exist, and those of the previous release, have no value. Make it nullable, or give it a default.';
const COLUMN_STAYS =
  'is in no entity. It stays: to drop it deletes its values, and the previous release may use it.';

/**
 * @typedef {object} Differences
 * @property {string[]} statements of a migration, with what the previous release still accepts
 * @property {string[]} notes about what stays, although no entity declares it
 * @property {string[]} problems: what needs a migration that somebody writes
 */

/**
 * Compares the tables of a database with those that the entities of the data source declare.
 *
 * @param {DataSource} dataSource
 * @returns {Promise<Differences>}
 */
export async function findDifferences(dataSource) {
  const columns = dataSource.entityMetadatas.flatMap((entity) => entity.columns);
  const generated = columns.find(({ generatedType }) => generatedType);
  // TypeORM would read its table typeorm_metadata, which does not exist.
  if (generated) throw new Error(`TypeORM cannot compare ${generated.propertyName}: generatedType`);
  const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
  const all = upQueries.map(({ query }) => query.trim());
  /** @type {Differences} */
  const differences = { statements: [], notes: [], problems: [] };
  for (const sql of all) await sort(dataSource, differences, sql, all);
  return differences;
}

/**
 * Adds a statement of TypeORM to the differences, or a line about it if it would drop or rewrite something.
 *
 * @type {(dataSource: DataSource, differences: Differences, sql: string, all: string[]) => Promise<void>}
 */
async function sort(dataSource, { statements, notes, problems }, sql, all) {
  const [, table = '', action = ''] = /^ALTER TABLE (\S+) (.+)$/s.exec(sql) ?? [];
  const [, column = ''] = /^(?:ADD|DROP COLUMN|ALTER COLUMN) ("[^"]+")/.exec(action) ?? [];
  const name = `${table}.${column}`.replaceAll('"', '');
  const [, dropped] = /\bDROP (?:CONSTRAINT|INDEX) (?:\S+\.)?("[^"]+")$/.exec(sql) ?? [];
  if (/^ALTER COLUMN \S+ TYPE /.test(action)) {
    problems.push(`${name} ${TYPE_CHANGES}`);
  } else if (action.startsWith('DROP COLUMN ')) {
    if (all.some((other) => other.startsWith(`ALTER TABLE ${table} ADD ${column} `))) {
      problems.push(`${name} ${TYPE_CHANGES}`);
      return;
    }
    notes.push(`${name} ${COLUMN_STAYS}`);
    // Inserts of the new release have no value for it.
    if (await isRequired(dataSource, name))
      statements.push(`ALTER TABLE ${table} ALTER COLUMN ${column} DROP NOT NULL`);
  } else if (dropped) {
    const isReplaced = all.some((other) => other !== sql && other.includes(` ${dropped} `));
    if (isReplaced)
      problems.push(`The constraint or index ${dropped} changes. Write this migration.`);
    else notes.push(`${dropped} is in no entity. It stays.`);
  } else if (/^ALTER TYPE \S+ RENAME |^DROP /.test(sql)) {
    problems.push(`Write this migration: ${sql}`);
  } else if (
    /^ADD "[^"]+" .* NOT NULL(?!.* DEFAULT )/.test(action) &&
    !/ GENERATED | \w*SERIAL /.test(action)
  ) {
    problems.push(`${name} ${NO_VALUE}`);
  } else {
    statements.push(sql);
  }
}

/** Returns whether an INSERT must have a value for a column `table.name`. @type {(dataSource: DataSource, column: string) => Promise<boolean>} */
async function isRequired(dataSource, column) {
  const [table = '', name = ''] = column.split('.');
  const runner = dataSource.createQueryRunner();
  const found = (await runner.getTable(table))?.findColumnByName(name);
  await runner.release();
  return found !== undefined && !found.isNullable && !found.default && !found.isGenerated;
}

/** Names constraints and indexes that an entity does not name, in the way PostgreSQL does. */
export class SchemaNames extends DefaultNamingStrategy {
  /** @override @param {Table | string} table */
  primaryKeyName(table) {
    return this.joined(table, [], 'pkey');
  }

  /** @override @param {Table | string} table @param {string[]} columns */
  uniqueConstraintName(table, columns) {
    return this.joined(table, columns, 'key');
  }

  /** Of the columns of a one-to-one relation. @override @param {Table | string} table @param {string[]} columns */
  relationConstraintName(table, columns) {
    return this.joined(table, columns, 'key');
  }

  /** @override @param {Table | string} table @param {string[]} columns */
  foreignKeyName(table, columns) {
    return this.joined(table, columns, 'fkey');
  }

  /** @override @param {Table | View | string} table @param {string[]} columns */
  indexName(table, columns) {
    return this.joined(table, columns, 'idx');
  }

  /** @private @param {Table | View | string} table @param {string[]} columns @param {string} kind */
  joined(table, columns, kind) {
    const { name } = typeof table === 'string' ? { name: table } : table;
    return [this.getTableName(name), ...columns, kind].join('_');
  }
}

/**
 * Writes a migration in the form of the project.
 *
 * @param {string} path of the file, without number and ending: `src/toys/migrations/add-colour`
 * @param {number} number follows those of all migrations
 * @param {readonly string[]} statements
 * @returns {string} the path of the file
 */
export function writeMigration(path, number, statements) {
  const [, folder = '', name = ''] = /^(.+\/)(.+)$/.exec(path) ?? [];
  const words = name.split('-');
  const className = words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`).join('');
  const source = `import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ${className}${number} implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
${statements.map(statementSource).join('\n')}
  }

  down(): Promise<never> {
    return Promise.reject(new Error('Migrations only go forward.'));
  }
}
`;
  const file = join(folder, `${number}-${name}.ts`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, source, { flag: 'wx' });
  return file;
}

const LINE_LENGTH = 100;

/** @type {(sql: string) => string} */
function statementSource(sql) {
  const line = `    await runner.query('${sql}');`;
  if (!/['\\\n]/.test(sql) && line.length <= LINE_LENGTH) return line;
  const text = sql.replace(/[\\`]|\$(?=\{)/g, '\\$&').replaceAll('\n', '\n      ');
  return `    await runner.query(\`\n      ${text}\`);`;
}
