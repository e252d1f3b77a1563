import { join } from 'node:path';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import type { TestDatabase } from '../database/database.js';

/** A feature of examples/, compiled by the set-up of the test run. */
export interface Example {
  /** For `features` of `startService`. */
  readonly modules: string;
  readonly folder: string;
}

export function exampleOf(name: string): Example {
  const folder = join(__dirname, '../../../reports/product/src', name);
  return { modules: join(folder, 'index.js'), folder };
}

/** Runs the migration of an example, which the service does not know. */
export async function migrateExample(
  migration: Pick<MigrationInterface, 'up'>,
  database: TestDatabase,
): Promise<void> {
  await migration.up({ query: (sql: string) => database.query(sql) } as QueryRunner);
}
