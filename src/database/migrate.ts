import { DataSource } from 'typeorm';
import type { Settings } from '../config/settings.js';
import { dataSourceOptions } from './data-source-options.js';
import type { DatabaseLocation } from './database-location.js';
import { executedMigrations } from './migration-status.js';

/** The advisory lock that lets one process migrate at a time; any number that nothing else uses. */
const MIGRATION_LOCK = 7_236_114_901n;
const LOCK_POLL_MS = 100;
const LOCK_WAIT_MS = 60_000;
/** A migration may rewrite or index a large table: only its locks are bounded, by lock_timeout. */
const STATEMENT_TIMEOUT_MS = 3_600_000;

/** Brings the schema up to date, one process at a time. Returns the names of the migrations it ran. */
export async function migrate(location: DatabaseLocation, settings: Settings): Promise<string[]> {
  return withMigrationLock(location, settings, async (dataSource) => {
    const executed = await dataSource.runMigrations({ transaction: 'each' });
    return executed.map(({ name }) => name);
  });
}

/** Takes back the newest migration. Returns its name, or undefined when there is none. */
export async function revertMigration(
  location: DatabaseLocation,
  settings: Settings,
): Promise<string | undefined> {
  return withMigrationLock(location, settings, async (dataSource) => {
    const [newest] = await executedMigrations(dataSource);
    if (newest !== undefined) await dataSource.undoLastMigration({ transaction: 'each' });
    return newest;
  });
}

async function withMigrationLock<Result>(
  location: DatabaseLocation,
  settings: Settings,
  work: (dataSource: DataSource) => Promise<Result>,
): Promise<Result> {
  return withDataSource(location, settings, async (dataSource) => {
    // The lock belongs to the session of this runner, and goes with it should the process die.
    const runner = dataSource.createQueryRunner();
    try {
      const deadline = performance.now() + LOCK_WAIT_MS;
      for (;;) {
        const [{ locked }] = (await runner.query('SELECT pg_try_advisory_lock($1) AS locked', [
          MIGRATION_LOCK,
        ])) as [{ locked: boolean }];
        if (locked) break;
        if (performance.now() > deadline) throw new Error('another process migrates for too long');
        await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS));
      }
      try {
        return await work(dataSource);
      } finally {
        await runner.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
      }
    } finally {
      await runner.release();
    }
  });
}

async function withDataSource<Result>(
  location: DatabaseLocation,
  settings: Settings,
  work: (dataSource: DataSource) => Promise<Result>,
): Promise<Result> {
  const patient: Settings = Object.assign(Object.create(settings) as Settings, {
    databaseStatementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  const dataSource = new DataSource(dataSourceOptions(location.direct, patient, { poolSize: 2 }));
  await dataSource.initialize();
  try {
    return await work(dataSource);
  } finally {
    await dataSource.destroy();
  }
}
