import { Client } from 'pg';
import { until } from '../run/until.js';
import type { TestDatabase } from './database.js';

/** Locks of a transaction. Statements that conflict with them wait. */
export interface DatabaseLock {
  /** Resolves when a statement waits. */
  waitedFor(): Promise<void>;
  /** Commits the transaction. */
  release(): Promise<void>;
}

/** Blocks every statement on the items until the lock is released. */
export const holdItems = (database: TestDatabase): Promise<DatabaseLock> =>
  holdTable(database, 'test_items', 'ACCESS EXCLUSIVE');

/** Blocks statements that conflict with a lock mode until the lock is released. */
export const holdTable = (
  database: TestDatabase,
  table: string,
  mode: string,
): Promise<DatabaseLock> => holdAfter(database, `LOCK TABLE ${table} IN ${mode} MODE`);

/** Holds the locks of a statement until they are released. */
export async function holdAfter(
  database: TestDatabase,
  statement: string,
  values?: unknown[],
): Promise<DatabaseLock> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query('BEGIN');
  await client.query(statement, values);
  return {
    waitedFor: async () => {
      const waiting = `SELECT FROM pg_locks WHERE NOT granted AND $1 = ANY (pg_blocking_pids(pid))`;
      const { processID } = client as unknown as { processID: number };
      await until(async () => (await database.query(waiting, [processID])).length > 0);
    },
    release: async () => {
      await client.query('COMMIT');
      await client.end();
    },
  };
}

/** Resolves when this many sessions wait for locks. The test may be in a transaction. */
export async function untilSessionsWait(database: TestDatabase, sessions = 1): Promise<void> {
  // Waits of autovacuum, and for space in a table, end without the test.
  const waiting = `
    SELECT FROM pg_stat_activity
     WHERE datname = current_database() AND backend_type = 'client backend'
       AND wait_event_type = 'Lock' AND wait_event IN ('relation', 'transactionid', 'tuple')`;
  await until(async () => {
    // Inside a transaction, the view would not change.
    await database.query('SELECT pg_stat_clear_snapshot()');
    return (await database.query(waiting)).length >= sessions;
  });
}
