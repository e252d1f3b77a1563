import { setTimeout as delay } from 'node:timers/promises';
import { DataSource, type QueryRunner } from 'typeorm';
import type { DatabaseSettings } from '../../config/database-settings.js';
import { APPLICATION_NAMES } from '../pools/client-config.js';
import { dataSourceOptions } from '../data-source-options.js';
import type { DatabaseLocation } from '../database-location.js';
import { StartError } from '../../errors/start-error.js';
import { executedMigrations, migrationStatus } from './migration-status.js';
import type { StatementRunner } from '../sql.js';

/** The advisory lock of the process that migrates. The number is arbitrary. */
const MIGRATION_LOCK = 7_236_114_901n;
const LOCK_POLL_MS = 100;
const LOCK_WAIT_MS = 60_000;
/** A migration may rewrite or index a large table. Its waits for locks are short (lock_timeout). */
const STATEMENT_TIMEOUT_MS = 3_600_000;

/** Runs statements that record the names of executed migrations. */
type RecordMigrations = (database: StatementRunner, migrations: readonly string[]) => Promise<void>;

/**
 * Brings the schema up to date, one process at a time.
 *
 * @param record runs after the migrations, also when a later one failed; not when none was executed
 * @returns the names of the migrations that were executed, oldest first
 */
export async function migrate(
  location: DatabaseLocation,
  settings: DatabaseSettings,
  record: RecordMigrations = () => Promise.resolve(),
): Promise<string[]> {
  return withMigrationLock(location, settings, async ({ dataSource }) => {
    const before = await executedMigrations(dataSource);
    const recordExecuted = async (): Promise<string[]> => {
      const after = await executedMigrations(dataSource);
      const executed = after.filter((name) => !before.includes(name)).toReversed();
      if (executed.length > 0) await record(dataSource, executed);
      return executed;
    };
    try {
      await dataSource.runMigrations({ transaction: 'each' });
    } catch (error) {
      // Without a connection there is nothing to record, and the first error says more.
      await recordExecuted().catch(() => undefined);
      throw error;
    }
    return recordExecuted();
  });
}

/** Waits until no migration is in progress. Returns whether no migration is pending. */
export async function isSchemaCurrent(
  location: DatabaseLocation,
  settings: DatabaseSettings,
): Promise<boolean> {
  const { pending } = await withMigrationLock(location, settings, migrationStatus);
  return pending.length === 0;
}

/**
 * Does the work while no other process migrates.
 *
 * @param work receives the session that holds the lock
 * @throws StartError when another process holds the lock for a minute
 */
async function withMigrationLock<Result>(
  location: DatabaseLocation,
  settings: DatabaseSettings,
  work: (session: QueryRunner) => Promise<Result>,
): Promise<Result> {
  const dataSource = new DataSource(
    dataSourceOptions(location.direct, settings, {
      // One holds the lock, the other migrates.
      poolSize: 2,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      applicationName: APPLICATION_NAMES.migrations,
    }),
  );
  await dataSource.initialize();
  try {
    const session = dataSource.createQueryRunner();
    await lock(session);
    const result = await work(session);
    // After an error, the server releases the lock with the session.
    await session.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    return result;
  } finally {
    await dataSource.destroy();
  }
}

async function lock(session: QueryRunner): Promise<void> {
  const deadline = performance.now() + LOCK_WAIT_MS;
  for (;;) {
    const [{ locked }] = await session.manager.query<[{ locked: boolean }]>(
      'SELECT pg_try_advisory_lock($1) AS locked',
      [MIGRATION_LOCK],
    );
    if (locked) return;
    if (performance.now() > deadline) {
      throw new StartError(
        'Another process has been changing the schema for more than a minute. Try again when it has ended.',
      );
    }
    await delay(LOCK_POLL_MS);
  }
}
