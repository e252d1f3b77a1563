import { Client } from 'pg';
import type { TestDatabase } from './database.js';

/** A lock on a table. Statements that need the table wait. */
export interface DatabaseLock {
  /** Resolves when a statement waits. */
  waitedFor(): Promise<void>;
  release(): Promise<void>;
}

/** Blocks every statement on the items until the lock is released. */
export const holdItems = (database: TestDatabase): Promise<DatabaseLock> =>
  holdTable(database, 'items', 'ACCESS EXCLUSIVE');

/** Blocks statements that conflict with a lock mode until the lock is released. */
export async function holdTable(
  database: TestDatabase,
  table: string,
  mode: string,
): Promise<DatabaseLock> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query('BEGIN');
  await client.query(`LOCK TABLE ${table} IN ${mode} MODE`);
  return {
    waitedFor: async () => {
      const waiting = `SELECT FROM pg_locks WHERE NOT granted AND relation = '${table}'::regclass`;
      while ((await database.query(waiting)).length === 0);
    },
    release: async () => {
      await client.query('ROLLBACK');
      await client.end();
    },
  };
}
