import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import type { TestDatabase } from '../database/database.js';

const ROOT = join(__dirname, '../../..');

/** A feature of examples/, compiled. */
export interface Example {
  /** For `features` of `startService`. */
  readonly modules: string;
  readonly folder: string;
}

/** Compiles a feature of examples/. Two test files must not compile the same one. */
export async function compileExample(name: string): Promise<Example> {
  const script = join(__dirname, 'compile-example.mjs');
  await promisify(execFile)(process.execPath, [script, name]);
  const folder = join(ROOT, 'reports', 'examples', name);
  return { modules: join(folder, 'index.js'), folder };
}

/** Runs the migration of an example, which the service does not know. */
export async function migrateExample(
  migration: Pick<MigrationInterface, 'up'>,
  database: TestDatabase,
): Promise<void> {
  await migration.up({ query: (sql: string) => database.query(sql) } as QueryRunner);
}
