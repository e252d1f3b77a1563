import type { MigrationInterface } from 'typeorm';
import { migrations } from '../migrations/index.js';
import type { StatementRunner } from '../sql.js';

/** Which migrations the schema has, newest first, and which are still to be run. */
export interface MigrationStatus {
  executed: string[];
  pending: string[];
}

export async function migrationStatus(
  database: Pick<StatementRunner, 'query'>,
): Promise<MigrationStatus> {
  const executed = await executedMigrations(database);
  const pending = migrations.map(nameOf).filter((name) => !executed.includes(name));
  return { executed, pending };
}

/** Returns the names of the migrations that the schema has, newest first. */
export async function executedMigrations(
  database: Pick<StatementRunner, 'query'>,
): Promise<string[]> {
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
function nameOf(Migration: new () => MigrationInterface): string {
  return new Migration().name ?? Migration.name;
}
