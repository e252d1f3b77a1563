import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { DataSource, type DataSourceOptions, MigrationExecutor, type QueryRunner } from 'typeorm';
import type { DatabaseSettings } from '../../config/database-settings.js';
import type { Settings } from '../../config/settings.js';
import { dataSourceOptions } from '../data-source-options.js';
import type { DatabaseLocation } from '../database-location.js';
import { StartError } from '../../errors/start-error.js';
import { queryRows, type StatementRunner } from '../sql.js';
import { findMigrations } from './migration-files.js';

/** The advisory lock of the process that migrates. The number is arbitrary. */
const MIGRATION_LOCK = 7_236_114_901n;
const LOCK_POLL_MS = 100;
const LOCK_WAIT_MS = 60_000;
/** A migration may rewrite or index a large table. Its waits for locks are short (lock_timeout). */
const STATEMENT_TIMEOUT_MS = 3_600_000;

type EntityOptions = Pick<DataSourceOptions, 'entities' | 'namingStrategy'>;

/** Records the names of executed migrations, if there are any. */
type RecordMigrations = (database: StatementRunner, migrations: readonly string[]) => Promise<void>;

interface MigrationOptions {
  record?: RecordMigrations;
  /** Prevents migrations that have not begun. Its reason is thrown. */
  signal?: AbortSignal | undefined;
  /** Called when the first migration begins. */
  onBegin?: (() => void) | undefined;
}

/**
 * Brings the schema up to date, one process at a time. If no migration is pending, it does not wait
 * for a process that migrates: a replica of an earlier release must be able to start meanwhile.
 *
 * @returns the names of the migrations that were executed, oldest first
 */
export async function migrate(
  location: DatabaseLocation,
  settings: DatabaseSettings,
  { record, signal, onBegin }: MigrationOptions = {},
): Promise<string[]> {
  return withDataSource(location, settings, async (dataSource) => {
    if ((await migrationStatus(dataSource)).pending.length === 0) return [];
    // Its end releases the lock.
    const session = dataSource.createQueryRunner();
    await lock(session, signal);
    const { pending } = await migrationStatus(dataSource);
    signal?.throwIfAborted();
    onBegin?.();
    let executed: string[];
    try {
      await dataSource.runMigrations({ transaction: 'each' });
    } finally {
      // After a failure, TypeORM keeps its own connection.
      const after = await migrationStatus(dataSource, session);
      executed = pending.filter((name) => after.executed.includes(name));
      if (executed.length > 0) await record?.(session, executed);
    }
    return executed;
  });
}

/** Migrates the schema or, without MIGRATE_ON_START, throws a StartError if a migration is pending. */
export async function prepareSchema(
  { database: settings, product }: Settings,
  location: DatabaseLocation,
  logger: Logger,
  options?: Pick<MigrationOptions, 'signal' | 'onBegin'>,
): Promise<void> {
  if (settings.migrateOnStart) {
    const migrations = await migrate(location, settings, options);
    if (migrations.length > 0) logger.info({ migrations }, 'schema migrated');
  } else if (!(await isSchemaCurrent(location, settings))) {
    throw new StartError(
      `The schema of ${location.description} is not up to date, or this role cannot read it. Run \`${product.command} db migrate\` as the role that owns the tables.`,
    );
  }
}

/** Returns the names of the executed migrations, newest first, and of those that are not executed. */
export async function migrationStatus(dataSource: DataSource, session?: QueryRunner) {
  const migrations = new MigrationExecutor(dataSource, session);
  const executed = (await migrations.getExecutedMigrations()).map(({ name }) => name);
  const pending = (await migrations.getPendingMigrations()).map(({ name }) => name);
  return { executed, pending };
}

/** Returns whether no migration is pending. A connection pooler may lead to the database. */
export async function isSchemaCurrent(
  location: DatabaseLocation,
  settings: DatabaseSettings,
): Promise<boolean> {
  const { pending } = await withDataSource(location, settings, migrationStatus);
  return pending.length === 0;
}

/**
 * Runs the work on connections for statements that take long.
 *
 * @param options of TypeORM in addition, such as entities
 */
export async function withDataSource<Result>(
  location: DatabaseLocation,
  settings: DatabaseSettings,
  work: (dataSource: DataSource) => Promise<Result>,
  options: EntityOptions = {},
): Promise<Result> {
  // One holds the lock, the other migrates.
  const own = { ...settings, poolSize: 2, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
  const common = dataSourceOptions(location.connection, own, 'migrations');
  const migrations = await findMigrations(settings.codeFolder);
  const dataSource = new DataSource({ ...common, migrations, ...options });
  await dataSource.initialize();
  try {
    return await work(dataSource);
  } finally {
    await dataSource.destroy();
  }
}

/** Waits for the lock. @throws StartError when another process holds it for a minute */
async function lock(session: QueryRunner, signal?: AbortSignal): Promise<void> {
  const deadline = performance.now() + LOCK_WAIT_MS;
  const sql = `SELECT WHERE pg_try_advisory_lock(${MIGRATION_LOCK})`;
  while ((await queryRows(session, sql)).length === 0) {
    if (performance.now() > deadline) {
      throw new StartError(
        'Another process has been changing the schema for more than a minute. Try again when it has ended.',
      );
    }
    signal?.throwIfAborted();
    await delay(LOCK_POLL_MS);
  }
}
