import type { DataSource } from 'typeorm';
import type { StatementRunner } from '../sql.js';

/** Returns the names of the executed migrations, newest first, and of those that are not executed. */
export async function migrationStatus(database: StatementRunner & { dataSource: DataSource }) {
  const executed = await executedMigrations(database);
  const all = database.dataSource.migrations.map(
    ({ name, constructor }) => name ?? constructor.name,
  );
  const pending = all.filter((name) => !executed.includes(name)).sort(byTime);
  return { executed, pending };
}

/** Returns the names of the migrations that the schema has, newest first. */
export async function executedMigrations(database: StatementRunner): Promise<string[]> {
  const [{ exists }] = await database.query<[{ exists: boolean }]>(
    `SELECT to_regclass('migrations') IS NOT NULL AS exists`,
  );
  if (!exists) return [];
  const rows = await database.query<{ name: string }[]>(
    'SELECT name FROM migrations ORDER BY id DESC',
  );
  return rows.map(({ name }) => name);
}

/** The name of a migration ends with its time. TypeORM executes them in this order. */
const byTime = (a: string, b: string): number => Number(a.slice(-13)) - Number(b.slice(-13));
