import { Client } from 'pg';
import type { TestDatabase } from './database.js';

/** The animals, held in a transaction: what asks for them has to wait. */
export interface DatabaseLock {
  /** Resolves when a statement waits. */
  waitedFor(): Promise<void>;
  release(): Promise<void>;
}

/** Makes every use of the animals wait until the lock is released. */
export async function holdPets(database: TestDatabase): Promise<DatabaseLock> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query('BEGIN');
  await client.query('LOCK TABLE pets IN ACCESS EXCLUSIVE MODE');
  return {
    waitedFor: async () => {
      const waiting = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'pets'::regclass`;
      while ((await database.query(waiting)).length === 0);
    },
    release: async () => {
      await client.query('ROLLBACK');
      await client.end();
    },
  };
}
