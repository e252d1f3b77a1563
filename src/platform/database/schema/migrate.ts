import { setTimeout as delay } from 'node:timers/promises';
import { DataSource, type QueryRunner } from 'typeorm';
import type { DatabaseSettings } from '../../config/database-settings.js';
import { dataSourceOptions } from '../data-source-options.js';
import type { DatabaseLocation } from '../database-location.js';
import { StartError } from '../../errors/start-error.js';
import { queryRows, type StatementRunner } from '../sql.js';

/** The advisory lock of the process that migrates. The number is arbitrary. */
const MIGRATION_LOCK = 7_236_114_901n;
const LOCK_POLL_MS = 100;
const LOCK_WAIT_MS = 60_000;
/** A migration may rewrite or index a large table. Its waits for locks are short (lock_timeout). */
const STATEMENT_TIMEOUT_MS = 3_600_000;

/** Runs statements that record the names of executed migrations. */
type RecordMigrations = (database: StatementRunner, migrations: readonly string[]) => Promise<void>;

/**
 * Brings the schema up to date, one process at a time. If no migration is pending, it does not wait
 * for a process that migrates: a replica of an earlier release must be able to start meanwhile.
 *
 * @param record runs after the migrations, also when a later one failed; not when none was executed
 * @returns the names of the migrations that were executed, oldest first
 */
export async function migrate(
  location: DatabaseLocation,
  settings: DatabaseSettings,
  record: RecordMigrations = () => Promise.resolve(),
): Promise<string[]> {
  return withSession(location, settings, async (session) => {
    if ((await migrationStatus(session)).pending.length === 0) return [];
    await lock(session);
    const { pending } = await migrationStatus(session.dataSource.manager);
    let executed: string[];
    try {
      await session.dataSource.runMigrations({ transaction: 'each' });
    } finally {
      // After a failure, TypeORM keeps its own connection.
      const after = await migrationStatus(session);
      executed = pending.filter((name) => after.executed.includes(name));
      if (executed.length > 0) await record(session, executed);
    }
    return executed;
  });
}

/** Returns the names of the executed migrations, newest first, and of those that are not executed. */
export async function migrationStatus(database: StatementRunner & { dataSource: DataSource }) {
  const exists = `SELECT WHERE to_regclass('migrations') IS NOT NULL`;
  const list = 'SELECT name FROM migrations ORDER BY id DESC';
  const isNew = (await queryRows(database, exists)).length === 0;
  const rows = isNew ? [] : await queryRows<{ name: string }>(database, list);
  const executed = rows.map(({ name }) => name);
  const all = database.dataSource.migrations.map(
    ({ name, constructor }) => name ?? constructor.name,
  );
  // A name ends with a time. TypeORM executes migrations in this order.
  const timeOf = (name: string) => Number(name.slice(-13));
  const pending = all.filter((name) => !executed.includes(name));
  return { executed, pending: pending.sort((a, b) => timeOf(a) - timeOf(b)) };
}

/** Returns whether no migration is pending. A connection pooler may lead to the database. */
export async function isSchemaCurrent(
  location: DatabaseLocation,
  settings: DatabaseSettings,
): Promise<boolean> {
  const { pending } = await withSession(location, settings, migrationStatus);
  return pending.length === 0;
}

/** Does the work in a session of its own. Its end releases the lock. */
async function withSession<Result>(
  location: DatabaseLocation,
  settings: DatabaseSettings,
  work: (session: QueryRunner) => Promise<Result>,
): Promise<Result> {
  const dataSource = new DataSource(
    dataSourceOptions(location.connection, settings, {
      // One holds the lock, the other migrates.
      poolSize: 2,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      purpose: 'migrations',
    }),
  );
  await dataSource.initialize();
  try {
    return await work(dataSource.createQueryRunner());
  } finally {
    await dataSource.destroy();
  }
}

/** Waits for the lock. @throws StartError when another process holds it for a minute */
async function lock(session: QueryRunner): Promise<void> {
  const deadline = performance.now() + LOCK_WAIT_MS;
  const sql = `SELECT WHERE pg_try_advisory_lock(${MIGRATION_LOCK})`;
  while ((await queryRows(session, sql)).length === 0) {
    if (performance.now() > deadline) {
      throw new StartError(
        'Another process has been changing the schema for more than a minute. Try again when it has ended.',
      );
    }
    await delay(LOCK_POLL_MS);
  }
}
