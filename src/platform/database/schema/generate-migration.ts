import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DataSource, DataSourceOptions } from 'typeorm';
import type { DatabaseSettings } from '../../config/database-settings.js';
import type { DatabaseLocation } from '../database-location.js';
import { type Catalogue, readCatalogue } from './catalogue.js';
import { compareCatalogues, type Differences, type Statement } from './differences.js';
import { withDataSource } from './migrate.js';
import { SchemaNames } from './schema-names.js';

/**
 * Compares the tables of a database with those that the entities declare. For this, it creates
 * temporary tables by the statements of TypeORM, in a transaction that it rolls back, so that
 * PostgreSQL shows both in the same form. It does not compare views, functions, triggers and rights.
 */
export function findDifferences(
  location: DatabaseLocation,
  settings: DatabaseSettings,
  entities: DataSourceOptions['entities'] & object,
): Promise<Differences> {
  const options = { entities, namingStrategy: new SchemaNames(), schema: 'pg_temp' };
  const compare = async (dataSource: DataSource) => {
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    const runner = dataSource.createQueryRunner();
    try {
      await runner.startTransaction();
      const actual = await readCatalogue(runner, 'current_schema()::regnamespace::oid');
      for (const { query, parameters } of upQueries) {
        // TypeORM notes the expressions of generated columns there. PostgreSQL knows them.
        if (!query.includes('typeorm_metadata')) await runner.query(query, parameters);
      }
      const declared = await readCatalogue(runner, 'pg_my_temp_schema()');
      await runner.rollbackTransaction();
      return compareCatalogues(
        actual,
        inTheWordsOf(dataSource, declared),
        ownIndexesOf(dataSource),
      );
    } finally {
      await runner.release();
    }
  };
  return withDataSource(location, settings, compare, options);
}

/** Returns the names of the indexes that only migrations create: TypeORM cannot express them. */
const ownIndexesOf = ({ entityMetadatas }: DataSource): string[] =>
  entityMetadatas
    .flatMap(({ indices }) => indices)
    .filter(({ synchronize }) => !synchronize)
    .map(({ name }) => name);

/** Adds to each check how its entity writes it. PostgreSQL writes it in another way. */
function inTheWordsOf({ entityMetadatas }: DataSource, catalogue: Catalogue): Catalogue {
  const checks = entityMetadatas.flatMap(({ checks }) => checks);
  for (const constraint of catalogue.tables.flatMap(({ constraints }) => constraints)) {
    const check = checks.find(({ name }) => name === constraint.name);
    if (constraint.kind === 'check' && check)
      constraint.declaration = `CHECK (${check.expression.replace(/\s*\n\s*/g, ' ')})`;
  }
  return catalogue;
}

/**
 * Writes a migration in the form of the project.
 *
 * @param path of the file, without number and ending: `src/toys/migrations/add-colour`
 * @param number follows those of all migrations
 * @returns the path of the file
 */
export function writeMigration(
  path: string,
  number: number,
  statements: readonly Statement[],
): string {
  const [, folder = '', name = ''] = /^(.+\/)(.+)$/.exec(path) ?? [];
  const file = join(folder, `${number}-${name}.ts`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, migrationSource(name, number, statements), { flag: 'wx' });
  return file;
}

/** Returns the code of a migration, as Prettier would format it. */
export function migrationSource(
  name: string,
  number: number,
  statements: readonly Statement[],
): string {
  const words = name.split('-');
  const className = words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`).join('');
  return `import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ${className}${number} implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
${statements.map(statementSource).join('\n')}
  }

  down(): Promise<never> {
    return Promise.reject(new Error('Migrations only go forward.'));
  }
}
`;
}

const LINE_LENGTH = 100;

function statementSource({ sql, warnings }: Statement): string {
  const comments = warnings.map((warning) => `    // ${warning}\n`).join('');
  const line = `    await runner.query('${sql}');`;
  if (!/['\\\n]/.test(sql) && line.length <= LINE_LENGTH) return `${comments}${line}`;
  const text = sql.replace(/[\\`]|\$(?=\{)/g, '\\$&').replaceAll('\n', '\n      ');
  return `${comments}    await runner.query(\`\n      ${text}\`);`;
}
