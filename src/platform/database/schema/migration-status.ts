import { migrations } from '../migrations/index.js';
import type { StatementRunner } from '../sql.js';

/** Returns the names of the executed migrations, newest first, and of those that are not executed. */
export async function migrationStatus(database: StatementRunner) {
  const executed = await executedMigrations(database);
  const pending = migrations.map(nameOf).filter((name) => !executed.includes(name));
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

/** Returns the name by which TypeORM records a migration. */
function nameOf(Migration: (typeof migrations)[number]): string {
  return new Migration().name ?? Migration.name;
}
