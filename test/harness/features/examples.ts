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

/**
 * Compiles a feature. Two test files must not compile the same one.
 *
 * @param folder of the feature's folder, relative to the project
 */
export async function compileExample(name: string, folder = 'examples'): Promise<Example> {
  const script = join(__dirname, 'compile-example.mjs');
  await promisify(execFile)(process.execPath, [script, name, folder]);
  const output = join(ROOT, 'reports', 'examples', name);
  return { modules: join(output, 'index.js'), folder: output };
}

/** Runs the migration of an example, which the service does not know. */
export async function migrateExample(
  migration: Pick<MigrationInterface, 'up'>,
  database: TestDatabase,
): Promise<void> {
  await migration.up({ query: (sql: string) => database.query(sql) } as QueryRunner);
}
