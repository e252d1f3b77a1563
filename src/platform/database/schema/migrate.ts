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
 * Brings the schema up to date, one process at a time. If no migration is pending, it does not wait
 * for a process that migrates: a replica of an earlier release must be able to start meanwhile.
 *
 * @param record runs after the migrations, also when a later one failed; not when none was executed
 * @returns the names of the migrations that were executed, oldest first
 * @throws StartError for a new database with another encoding than UTF8
 */
export async function migrate(
  location: DatabaseLocation,
  settings: DatabaseSettings,
  record: RecordMigrations = () => Promise.resolve(),
): Promise<string[]> {
  return withSession(location, settings, async (session) => {
    if ((await migrationStatus(session)).pending.length === 0) return [];
    await lock(session);
    const { dataSource } = session;
    const before = await executedMigrations(dataSource);
    if (before.length === 0) await requireUtf8(dataSource);
    let executed: string[];
    try {
      await dataSource.runMigrations({ transaction: 'each' });
    } finally {
      // After a failure, TypeORM keeps its own connection.
      const after = await executedMigrations(session);
      executed = after.filter((name) => !before.includes(name)).toReversed();
      if (executed.length > 0) await record(session, executed);
    }
    return executed;
  });
}

/** Returns whether no migration is pending. A connection pooler may lead to the database. */
export async function isSchemaCurrent(
  location: DatabaseLocation,
  settings: DatabaseSettings,
): Promise<boolean> {
  return withSession(
    location,
    settings,
    async (session) => (await migrationStatus(session)).pending.length === 0,
  );
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
      applicationName: APPLICATION_NAMES.migrations,
    }),
  );
  await dataSource.initialize();
  try {
    return await work(dataSource.createQueryRunner());
  } finally {
    await dataSource.destroy();
  }
}

/** A name has any Unicode characters. In SQL_ASCII, PostgreSQL would count its bytes. */
async function requireUtf8(dataSource: DataSource): Promise<void> {
  const [{ encoding }] = await dataSource.query<[{ encoding: string }]>(
    `SELECT current_setting('server_encoding') AS encoding`,
  );
  if (encoding === 'UTF8') return;
  throw new StartError(
    `The encoding of the database is ${encoding}. Create it with UTF8: createdb --encoding=UTF8 --template=template0 NAME`,
  );
}

/** Waits for the lock. @throws StartError when another process holds it for a minute */
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
