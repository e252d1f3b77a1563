import { isDeepStrictEqual } from 'node:util';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import type { DatabaseSettings } from '../../config/database-settings.js';
import type { DatabaseLocation } from '../database-location.js';
import { type RecordChange, withMigrationLock } from './migrate.js';
import { executedMigrations } from './migration-status.js';
import { excludeService } from './service-sessions.js';

/** What a revert does. */
export interface RevertPlan {
  /** The latest executed migration. */
  readonly migration: string;
  readonly losses: readonly Loss[];
}

/** A table that a revert drops, or a column that it drops from a table that stays. */
export interface Loss {
  /** Such as `pets` or `pets.status`. */
  readonly name: string;
  /** Rows of the table, or those in which the column is not null. */
  readonly rows: bigint;
}

const COLUMNS = `
  SELECT format('%s.%s', attrelid, attnum) AS id, attrelid::text AS "tableId",
         attrelid::regclass::text AS table, quote_ident(attname) AS column
    FROM pg_attribute
    JOIN pg_class ON pg_class.oid = attrelid AND relkind IN ('r', 'p')
    JOIN pg_namespace ON pg_namespace.oid = relnamespace
   WHERE attnum > 0 AND NOT attisdropped
     AND nspname <> 'information_schema' AND nspname !~ '^pg_'
   ORDER BY attrelid, attnum`;

interface Column {
  id: string;
  tableId: string;
  table: string;
  column: string;
}

/**
 * Returns what reverting the latest migration would do, or null when no migration is executed.
 * Changes nothing.
 *
 * @throws Error with one line when the service is connected, or when the migration belongs to
 *   another release
 */
export function planRevert(
  location: DatabaseLocation,
  settings: DatabaseSettings,
): Promise<RevertPlan | null> {
  return inRevert(location, settings, planIn);
}

/**
 * Reverts the latest migration in one transaction.
 *
 * @param approved the plan: nothing is changed when the revert would now do something else
 * @param record runs in the same transaction
 * @throws Error as planRevert does, or when the plan is out of date
 */
export function revertMigration(
  location: DatabaseLocation,
  settings: DatabaseSettings,
  approved: RevertPlan,
  record: RecordChange<RevertPlan>,
): Promise<void> {
  return inRevert(location, settings, async (transaction) => {
    const plan = await planIn(transaction);
    if (!isDeepStrictEqual(plan, approved)) {
      throw new Error('The database has changed in the meantime. Run the command again.');
    }
    await migrationNamed(transaction, approved.migration).down(transaction);
    await transaction.query('DELETE FROM migrations WHERE name = $1', [approved.migration]);
    await record(transaction, approved);
  });
}

/** Does the work in a transaction, during which no process migrates and no service is connected. */
function inRevert<Result>(
  location: DatabaseLocation,
  settings: DatabaseSettings,
  work: (transaction: QueryRunner) => Promise<Result>,
): Promise<Result> {
  return withMigrationLock(location, settings, (session) =>
    session.manager.transaction(async () => {
      await excludeService(session);
      return work(session);
    }),
  );
}

/** Finds out what the migration's `down` drops by running it and rolling it back. */
async function planIn(transaction: QueryRunner): Promise<RevertPlan | null> {
  const [migration] = await executedMigrations(transaction);
  if (migration === undefined) return null;
  const before = await transaction.manager.query<Column[]>(COLUMNS);
  await transaction.query('SAVEPOINT plan');
  await migrationNamed(transaction, migration).down(transaction);
  const after = await transaction.manager.query<Column[]>(COLUMNS);
  await transaction.query('ROLLBACK TO SAVEPOINT plan');
  const losses: Loss[] = [];
  for (const { name, count } of droppedParts(before, after)) {
    const [{ rows }] = await transaction.manager.query<[{ rows: bigint }]>(count);
    losses.push({ name, rows });
  }
  return { migration, losses };
}

function migrationNamed({ dataSource }: QueryRunner, name: string): MigrationInterface {
  const migration = dataSource.migrations.find(
    (each) => (each.name ?? each.constructor.name) === name,
  );
  if (migration) return migration;
  throw new Error(`The migration ${name} belongs to another release. Revert it with that release.`);
}

/** Returns each dropped table or column, with the statement that counts its rows. */
function droppedParts(
  before: readonly Column[],
  after: readonly Column[],
): { name: string; count: string }[] {
  const tables = new Set(after.map(({ tableId }) => tableId));
  const columns = new Set(after.map(({ id }) => id));
  const parts = new Map<string, string>();
  for (const { tableId, table, column } of before.filter(({ id }) => !columns.has(id))) {
    const [name, value] = tables.has(tableId) ? [`${table}.${column}`, column] : [table, '*'];
    parts.set(name, `SELECT count(${value}) AS rows FROM ${table}`);
  }
  return [...parts].map(([name, count]) => ({ name, count }));
}
